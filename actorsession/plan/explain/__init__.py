"""Explanations of a plan before it runs: what was kept and why, where it runs, what it sends, what it may cost.

``PlanTrail`` records the stages of a planning, ``explain`` makes an ``Explanation`` of them, and ``findings`` says
what would make the step slow. Everything is computed from the plan that a run would have; nothing is planned in
another way, and nothing runs. Sessions, masters and the command line call this; pure, as all of ``plan``.
"""
