"""Runs items × repeats × systems, independently of the benchmark, and keeps what they reply.

A run folder has replies (``reply``, ``replies.jsonl``: what each system said about each item),
votes (``votes.jsonl``: what judges said of the replies; only with judges) and rows, which are
computed from items, replies and votes (``row_writer``). A ``benchmark`` describes its items, its
manifest and how a reply is scored.

* ``folder_run`` asks systems (``system``, ``system_call``, ``system_registry``) and judges
  (``vote_plan``) for what is missing, and computes the rows; ``file_run`` appends rows to one file.
  ``base_run`` and ``session`` are common to both, and ``workers`` asks many questions at once.
* ``journal`` stores lines safe against crashes, ``row_layout`` and ``grid`` define which rows a run
  has and their order, ``resume`` checks that an interrupted run may be resumed, ``totals`` adds up
  tokens and costs, and ``progress`` prints the progress.
* ``scored_run`` writes a run from predictions (``prediction_reader``), ``second_judgement`` judges
  the replies of a run again, and ``folder_merger`` merges shards.
* ``folder_verifier`` and ``verification`` compute the rows of a finished run again and list every
  value that differs.
"""
