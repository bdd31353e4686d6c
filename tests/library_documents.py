"""Three small documents about a tool library, with numbered sections, for tests of runs."""

from pathlib import Path

LENDING = """# 1 Lending

The library lends tools to members. A loan is the record of one tool in the hands of one member,
with a due date. Every loan belongs to a member, and a member may have several loans.

## 1.1 Loans

A loan begins when a member takes a tool and ends with its return. The due date of a loan is three
weeks after it begins. A loan that is past its due date is an overdue loan, and a member with an
overdue loan cannot begin another loan.

## 1.2 Reservations

A reservation keeps a tool for a member. The reservation list of a tool is served in order. When a
tool comes back, the first member of the reservation list is told, and the reservation becomes a
loan. A reservation lapses after one week.

### 1.2.1 Waiting lists

The waiting list is the old name of the reservation list. A waiting list that is long shows that
the library needs another tool of that kind.

## 1.3 Fees

A fee is due for an overdue loan. The fee grows with each week. A member who pays the fee may
borrow again; the fee of a broken tool is its repair.
"""

REPAIR = """# 2 Repair

A broken tool goes to the workshop. The repair of a tool is noted in the tool record, with the
name of the volunteer and the spare part that was used.

## 2.1 Workshop

The workshop is open on Friday. A volunteer takes a broken tool from the shelf, reads the tool
record and begins the repair. The workshop keeps every spare part in a drawer with a label.

## 2.2 Spare parts

A spare part is ordered when the drawer is empty. The spare part list names the supplier of each
spare part. A supplier sends a spare part within a week.

## 2.3 Tool records

The tool record holds the history of a tool: each loan, each repair and each reservation. The tool
record of a tool that cannot be mended is closed.
"""

MEMBERS = """# 3 Members

A member signs the rules and pays a deposit. The deposit is paid back when the member leaves.

## 3.1 Deposits

The deposit of a member covers the loss of a tool. A deposit is no fee: the fee is for time, the
deposit is for loss.

## 3.2 Volunteers

A volunteer is a member who works in the workshop. A volunteer needs no deposit, and the volunteer
list hangs in the workshop.
"""

DOCUMENTS = {"1-lending.md": LENDING, "2-repair.md": REPAIR, "3-members.md": MEMBERS}


def write_documents(folder: Path) -> Path:
    """Writes the documents into a folder and returns the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in DOCUMENTS.items():
        (folder / name).write_text(text, "utf-8")
    return folder
