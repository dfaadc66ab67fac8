"""The style sheet of a report, without external fonts or files."""

CSS = """
:root { --ink: #1d232a; --soft: #5b6673; --line: #e1e5ea; --panel: #f6f8fa; --accent: #0072b2; }
* { box-sizing: border-box; }
body { margin: 0; color: var(--ink); background: #fff; line-height: 1.5;
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
main { max-width: 1080px; margin: 0 auto; padding: 2.2rem 1.5rem 4rem; }
header.top { border-bottom: 1px solid var(--line); margin-bottom: 1.6rem; padding-bottom: 1.2rem; }
.kicker { color: var(--accent); font-weight: 600; letter-spacing: .04em; text-transform: uppercase; font-size: .75rem; }
h1 { font-size: 1.75rem; line-height: 1.2; margin: .2rem 0 .6rem; }
h2 { font-size: 1.25rem; margin: 2.4rem 0 .8rem; }
h3 { font-size: 1rem; margin: 1.6rem 0 .5rem; }
p.lead { max-width: 56rem; color: #2c353f; margin: .8rem 0 0; }
nav { display: flex; gap: 1.2rem; flex-wrap: wrap; margin-top: .9rem; font-size: .9rem; }
a { color: var(--accent); text-decoration: none; } a:hover { text-decoration: underline; }
.tally { display: flex; gap: .6rem; flex-wrap: wrap; margin: 1rem 0 .2rem; }
.badge { display: inline-block; border-radius: 999px; padding: .1rem .6rem; font-size: .8rem; font-weight: 600;
  white-space: nowrap; }
.holds, .verified, .shown { background: #e2f4ea; color: #10653a; }
.does_not_hold, .not_shown { background: #e1eefb; color: #0b4f8a; }
.refuted, .erratum { background: #fdf0d8; color: #8a5300; }
.open, .time { background: #eef1f4; color: #2c353f; }
.not_testable { background: #ece9f5; color: #54458a; }
.ours { background: #eef1f4; color: #46515d; }
p.sentence { font-size: 1.05rem; font-weight: 600; margin: .8rem 0 .2rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .9rem; }
th { text-align: left; color: var(--soft); font-weight: 600; font-size: .8rem; border-bottom: 2px solid var(--line);
  padding: .35rem .6rem; vertical-align: bottom; }
td { border-bottom: 1px solid var(--line); padding: .45rem .6rem; vertical-align: top; }
td.number, th.number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
td.number .unit { color: var(--soft); font-size: .85em; }
td .id { display: block; color: var(--soft); font: .78rem ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
tr.noted td { border-bottom: 0; padding-bottom: .1rem; }
td.note { color: var(--soft); font-size: .83rem; padding-top: 0; }
td.note .bound { display: block; color: #2c353f; }
td.number.words { white-space: normal; max-width: 13rem; }
table.plain td { padding: .25rem .6rem; font-variant-numeric: tabular-nums; white-space: nowrap; }
table.wraps td { white-space: normal; }
table.plain tbody tr:nth-child(even) { background: var(--panel); }
table.facts th { width: 9rem; border-bottom: 1px solid var(--line); text-transform: none; vertical-align: top; }
figure { margin: 1.2rem 0 2rem; } figure img { width: 100%; height: auto; display: block; }
figcaption { color: var(--soft); font-size: .88rem; margin-top: .4rem; }
.small { color: var(--soft); font-size: .85rem; }
pre { background: var(--panel); border: 1px solid var(--line); border-radius: 6px; padding: .7rem .9rem;
  overflow-x: auto; font: .88rem/1.45 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
details summary { cursor: pointer; color: var(--accent); font-size: .9rem; margin: .6rem 0; }
@media print { main { max-width: none; padding: 0; } nav { display: none; } figure { break-inside: avoid; } }
"""
