import { reportColumns, reportLists } from './rows.js';
import type { ReportList, ReportRow } from './rows.js';

/** One list as it is printed. */
export interface PrintedList {
  readonly rows: number;
  /** The first of them. */
  readonly shown: readonly ReportRow[];
  /** The file with all rows. */
  readonly file: string;
}

/** What a report is about. */
export interface ReportHead {
  readonly tenant: string;
  readonly since: string | null;
  readonly until: string | null;
  readonly madeAt: string;
  /** The newest signed checkpoint when it was made; null: none was at hand. */
  readonly checkpoint: string | null;
}

/** A report as one page without scripts, to read and to print. Every figure leads to its list, every list to its file. */
export function reportPage(head: ReportHead, lists: ReadonlyMap<ReportList, PrintedList>): string {
  const all = [...lists].map(([list, printed]) => ({ list, title: reportLists[list], printed }));
  const figures = all.map(
    ({ list, title, printed }) =>
      `<tr><td><a href="#${list}">${escaped(title)}</a></td><td>${String(printed.rows)}</td></tr>`,
  );
  const period = `${head.since ?? 'the beginning'} to ${head.until ?? head.madeAt}`;
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>Approvals of ${escaped(head.tenant)}</title><style>${style}</style></head>
<body>
<h1>Approvals of ${escaped(head.tenant)}</h1>
<p>${escaped(period)}. Made ${escaped(head.madeAt)} from the log of Countersign. Hidden values are masked.</p>
<table class="figures"><tbody>${figures.join('')}</tbody></table>
<p>This is evidence of what was recorded. It does not show what people looked at, whether a decision was right, or attempts that
were refused before anything was recorded, such as an answer to one's own request. The log can be verified without this page:
<code>countersign audit verify</code>.</p>
${head.checkpoint === null ? '' : `<p>The log when it was made:</p><pre>${escaped(head.checkpoint)}</pre>`}
${all.map(({ list, title, printed }) => listSection(list, title, printed)).join('\n')}
</body>
</html>
`;
}

const names = Object.keys(reportColumns) as (keyof typeof reportColumns)[];

function listSection(list: ReportList, title: string, { rows, shown, file }: PrintedList): string {
  const heading = `<h2 id="${list}">${escaped(title)}</h2>`;
  if (rows === 0) return `${heading}\n<p>None.</p>`;
  const used = names.filter((name) => shown.some((row) => (row[name] ?? null) !== null));
  const head = used.map((name) => `<th title="${escaped(reportColumns[name])}">${name}</th>`).join('');
  const body = shown.map(
    (row) => `<tr>${used.map((name) => `<td>${escaped(String(row[name] ?? ''))}</td>`).join('')}</tr>`,
  );
  const more = rows > shown.length ? ` The first ${String(shown.length)} are below.` : '';
  return `${heading}
<p>${String(rows)}. All of them are in <a href="${escaped(file)}">${escaped(file)}</a>.${more}</p>
<table><thead><tr>${head}</tr></thead><tbody>
${body.join('\n')}
</tbody></table>`;
}

/** Texts of agents and people: nothing in them is markup. */
function escaped(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => `&#${String(character.codePointAt(0))};`);
}

const style = `body{font:14px/1.4 system-ui,sans-serif;margin:2rem;color:#111}table{border-collapse:collapse;margin:.5rem 0}
th,td{border:1px solid #ccc;padding:.2rem .4rem;text-align:left;vertical-align:top;overflow-wrap:anywhere;max-width:24rem}
th{background:#f3f3f3}.figures td:last-child{text-align:right}h2{margin-top:2rem}
@media print{body{margin:0;font-size:9px}tr{break-inside:avoid}a{color:inherit;text-decoration:none}@page{size:landscape}}`;
