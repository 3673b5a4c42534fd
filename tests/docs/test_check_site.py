"""A page that loads anything from another host is found before it is published."""

import subprocess
import sys
from pathlib import Path

import pytest
from console import ROOT

CHECK = ROOT / "tools" / "docs" / "check_site.py"
LOCAL = (
    '<html><head><link rel="stylesheet" href="../a.css"><link rel="canonical" href="https://example.org/">'
    '<script src="a.js"></script><style>.a{background:url(data:image/png;base64,AA==)}</style></head>'
    '<body><a href="https://example.org/">another host</a><img src="b.png"></body></html>'
)


def checked(site: Path, page: str, style: str = "") -> subprocess.CompletedProcess[str]:
    (site / "index.html").write_text(page, encoding="utf-8")
    (site / "a.css").write_text(style, encoding="utf-8")
    return subprocess.run(
        [sys.executable, str(CHECK), str(site)], capture_output=True, text=True, check=False
    )


def test_links_to_other_hosts_load_nothing(tmp_path: Path) -> None:
    done = checked(tmp_path, LOCAL, ".a{src:url(../fonts/a.woff2)}")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize(
    "page",
    [
        '<script src="https://cdn.example.org/a.js"></script>',
        '<link rel="stylesheet" href="//fonts.example.org/css">',
        '<link rel="preconnect" href="https://fonts.example.org">',
        '<img src="HTTPS://example.org/badge.svg">',
        '<iframe src="http://example.org"></iframe>',
        '<style>@import "https://example.org/a.css";</style>',
        '<p style="background:url(https://example.org/a.png)"></p>',
    ],
)
def test_a_page_that_loads_from_another_host_is_told(tmp_path: Path, page: str) -> None:
    done = checked(tmp_path, page)
    assert done.returncode == 1
    assert done.stdout.startswith("index.html loads ")


def test_a_style_that_loads_from_another_host_is_told(tmp_path: Path) -> None:
    done = checked(tmp_path, LOCAL, "@font-face{src:url('https://fonts.example.org/a.woff2')}")
    assert (done.returncode, done.stdout) == (1, "a.css loads https://fonts.example.org/a.woff2\n")
