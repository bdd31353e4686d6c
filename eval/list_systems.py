"""Lists the systems that can be named: ``epoche systems``, or this file as a script."""

from __future__ import annotations

from kg.base.console import run_script, say


def main() -> None:
    """Lists the systems ``--system`` knows by name, ours and those of installed packages."""
    from eval.registry import system_names

    names = system_names()
    width = max(map(len, names))
    for name, line in names.items():
        say(f"{name:<{width}}  {line}")
    say("Your own: --system mypkg.mod:Class (docs/adapters.md).")


if __name__ == "__main__":
    run_script(main)
