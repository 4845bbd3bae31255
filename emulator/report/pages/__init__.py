"""Pages of runs, comparisons, explanations and audits: one HTML file each, without a network.

``history`` collects what a run's timeline shows; ``thinning`` reduces it to what can be drawn;
``timeline`` draws it as SVG; ``marks`` draws what links to entries; ``page`` fills the template.
``run_page``, ``compare_page``, ``explain_page`` and ``audit_page`` choose the content.
"""
