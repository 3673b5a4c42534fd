"""Reports as HTML for notebooks, without scripts and without files."""

from collections.abc import Iterator
from html import escape

from pruning.spark.drive.report import Report, ScanReport, WhyNot

WIDTH, HEIGHT = 480, 14
# Legible on light and on dark pages: what is read, and what is skipped.
READ, SKIPPED = "#c2410c", "#94a3b8"


def report_html(report: Report) -> str:
    """Return a report: the text of each scan under a picture of the blocks that it keeps."""
    return f"<div>{''.join(_report_parts(report))}</div>"


def why_html(why: WhyNot) -> str:
    """Return the reasons for which techniques removed nothing, as a table."""
    rows = [
        f"<tr><td>{number}</td><td>{escape(decline.technique)}</td><td>{escape(decline.reason)}</td>"
        f"<td>{escape(decline.remedy)}</td></tr>"
        for number, (_, declined) in enumerate(why.scans, start=1)
        for decline in declined
    ]
    notes = "".join(f"<p>{escape(note)}</p>" for note in why.notes)
    head = "".join(f"<th>{name}</th>" for name in ("scan", "technique", "removed nothing because", "remedy"))
    return f"<div>{notes}<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"


def _report_parts(report: Report) -> Iterator[str]:
    yield from (f"<p>{escape(note)}</p>" for note in report.notes)
    for number, scan in enumerate(report.scans, start=1):
        first, *others = scan.lines()
        text = escape("\n".join(others))
        yield f"<p><b>scan {number}</b>: {escape(first)}</p>{_picture(scan)}"
        yield f'<pre style="white-space: pre-wrap">{text}</pre>'
    yield from (f"<p>job: {escape(str(job))}</p>" for job in report.jobs)


def _picture(scan: ScanReport) -> str:
    """Return a bar of a table's blocks in the order of its files, coloured where they are kept."""
    if not scan.picture:
        return ""
    width = WIDTH / len(scan.picture)
    bars = "".join(
        f'<rect x="{place * width:.2f}" y="{HEIGHT * (1 - share):.2f}" width="{width:.2f}" '
        f'height="{HEIGHT * share:.2f}" fill="{READ}"/>'
        for place, share in enumerate(scan.picture)
        if share
    )
    label = f"{scan.blocks_kept or 0:,} of {scan.blocks_total or 0:,} blocks kept"
    return (
        f'<svg role="img" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}">'
        f'<title>{label}</title><rect width="{WIDTH}" height="{HEIGHT}" fill="{SKIPPED}"/>{bars}</svg>'
    )
