"""Measure the offsets log: size over time, bytes that loads read, effect of compaction."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from emulator import events as ev
from emulator.metrics.readings import Handler, Reading, Row, seconds

MOST_POINTS = 64
"""Maximum number of points of one partition; beyond it, every second point is dropped."""

FIRST_INTERVAL_US = 1_000_000


class Point(NamedTuple):
    """The size that a load would read at one time."""

    at_us: int
    size: int
    """Unit: bytes."""

    records: int
    segments: int


class Course:
    """One offsets partition over time, as its newest leader reports it."""

    def __init__(self) -> None:
        self.points: list[Point] = []
        self._interval_us = FIRST_INTERVAL_US
        """Of each interval only the last point is kept; it doubles whenever there are too many
        points.
        """

        self._leader = (-1, -1)
        self.size_peak = self.records_peak = 0

    @property
    def now(self) -> Point:
        """The latest known point."""
        return self.points[-1] if self.points else Point(0, 0, 0, 1)

    def is_led_by(self, broker: int, epoch: int | None = None) -> bool:
        """Return whether a broker is not one that has been succeeded; note it if it is new."""
        if epoch is None:
            return broker == self._leader[1]
        if epoch < self._leader[0]:
            return False
        self._leader = (epoch, broker)
        return True

    def add(self, point: Point) -> None:
        """Add a point at a time that is not before the last one."""
        self.size_peak = max(self.size_peak, point.size)
        self.records_peak = max(self.records_peak, point.records)
        points, interval_us = self.points, self._interval_us
        if points and points[-1].at_us // interval_us == point.at_us // interval_us:
            points[-1] = point
            return
        points.append(point)
        if len(points) > MOST_POINTS:
            self._interval_us *= 2
            self.points = list({each.at_us // self._interval_us: each for each in points}.values())


class LogMeter:
    """Follows the size of the offsets log, partition by partition, and its loads."""

    def __init__(self) -> None:
        self._compactions = 0
        self._courses: dict[int, Course] = {}
        self._loads = 0
        self._loads_size = 0
        self._loads_us = 0
        self._removed_records = 0
        self._removed_size = 0
        self._rolled = 0

    def handlers(self) -> Mapping[type, Handler]:
        """Return the handler of each event type."""
        return {
            ev.Appended: self._on_appended,
            ev.CoordinatorLoaded: self._on_loaded,
            ev.SegmentRolled: self._on_rolled,
            ev.LogCompacted: self._on_compacted,
        }

    def read(self, _ended_us: int) -> Reading:
        """Return the sizes, the totals of loads, and the totals of compaction."""
        courses = self._courses.values()
        last = [course.now for course in courses]
        return Reading(
            values={
                "log_size": sum(point.size for point in last),
                "log_size_peak": max((course.size_peak for course in courses), default=0),
                "log_size_records": sum(point.records for point in last),
                "log_size_records_peak": max((c.records_peak for c in courses), default=0),
                "log_segments": sum(point.segments for point in last),
                "log_segments_rolled": self._rolled,
                "log_compactions": self._compactions,
                "log_compacted_bytes": self._removed_size,
                "log_compacted_records": self._removed_records,
                "log_loads": self._loads,
                "log_loads_s": seconds(self._loads_us),
                "log_loads_bytes": self._loads_size,
            },
            listings={"log_sizes": tuple(self._rows())},
        )

    def _rows(self) -> list[Row]:
        return [
            {
                "log_partition": number,
                "at_s": seconds(point.at_us),
                "bytes": point.size,
                "records": point.records,
                "segments": point.segments,
            }
            for number, course in sorted(self._courses.items())
            for point in course.points
        ]

    def _course(self, log_partition: int) -> Course:
        course = self._courses.get(log_partition)
        if course is None:
            course = self._courses[log_partition] = Course()
        return course

    def _on_appended(self, event: ev.Event, what: ev.Appended) -> None:
        course = self._course(what.log_partition)
        if what.log_size >= 0 and course.is_led_by(what.broker, what.leader_epoch):
            segments = course.now.segments
            course.add(Point(event.at_us, what.log_size, what.log_records, segments))

    def _on_loaded(self, event: ev.Event, what: ev.CoordinatorLoaded) -> None:
        self._loads += 1
        self._loads_size += what.size
        self._loads_us += what.waited_us + what.loaded_us
        course = self._course(what.log_partition)
        if course.is_led_by(what.broker, what.leader_epoch):
            segments = what.segments if what.segments >= 0 else course.now.segments
            course.add(Point(event.at_us, what.size, what.records, segments))

    def _on_rolled(self, event: ev.Event, what: ev.SegmentRolled) -> None:
        self._rolled += 1
        course = self._course(what.log_partition)
        if course.is_led_by(what.broker):
            course.add(course.now._replace(at_us=event.at_us, segments=what.segments))

    def _on_compacted(self, event: ev.Event, what: ev.LogCompacted) -> None:
        self._compactions += 1
        self._removed_size += what.removed_size
        self._removed_records += what.removed_records
        course = self._course(what.log_partition)
        if course.is_led_by(what.broker):
            course.add(Point(event.at_us, what.size, what.records, what.segments))
