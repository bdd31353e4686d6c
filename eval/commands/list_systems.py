"""Lists the systems that can be named: ``epoche systems``, or this file as a script."""

from __future__ import annotations

from kg.base.console import print_text, run_script


def main() -> None:
    """Lists the names that ``--system`` accepts: Epoché's systems and those of other packages."""
    from eval.abstention.systems.registry import system_names

    names = system_names()
    width = max(map(len, names))
    for name, line in names.items():
        print_text(f"{name:<{width}}  {line}")
    print_text("Your own: --system mypkg.mod:Class (docs/how-to/systems.md).")


if __name__ == "__main__":
    run_script(main)
