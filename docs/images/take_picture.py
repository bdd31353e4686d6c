"""Takes the picture of the report that the README shows.

Needs the ``dev`` extra and Chromium (on Debian ``apt install chromium``; on other systems, set
``EPOCHE_CHROMIUM`` to the path of the program). Run it after ``make all``:

    .venv/bin/python docs/images/take_picture.py results/report.html docs/images/report.png
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

WIDTH, HEIGHT, SCALE = 1280, 785, 1.25
"""Size of the page in CSS pixels, and picture pixels per CSS pixel. The picture
shows the first screen."""


def main(report: Path, picture: Path) -> None:
    """Writes the top of ``report``, in light colours, as a PNG."""
    chromium = os.environ.get("EPOCHE_CHROMIUM") or shutil.which("chromium")
    if chromium is None:
        sys.exit("error: no chromium on PATH. Install it or name it in EPOCHE_CHROMIUM.")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium, args=["--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page(
            viewport={"width": WIDTH, "height": HEIGHT},
            device_scale_factor=SCALE,
            color_scheme="light",
        )
        page.goto(report.resolve().as_uri())
        page.screenshot(path=picture)
        browser.close()


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(Path(sys.argv[1]), Path(sys.argv[2]))
