import { useState } from 'react';
import type { ReactNode } from 'react';
import type { OversightFigures, OversightGrouping, OversightReport } from '@countersign/contracts';
import { durationWords, printable } from '@countersign/text';
import { problemWords, useAccount, useLoaded } from '@countersign/react/parts';
import { readOversight } from '../api/oversight.js';
import { Link } from '../ui/link.js';
import { ScrollTable } from '../ui/table.js';
import { listBehind } from './list-behind.js';

const dayMs = 86_400_000;
const periods = [
  [1, 'the last day'],
  [7, 'the last 7 days'],
  [30, 'the last 30 days'],
  [90, 'the last 90 days'],
] as const;
const groupings = ['approver', 'tool', 'rule'] as const satisfies readonly OversightGrouping[];

/** How people decided in a period, per approver, tool or rule: from the log, not only from what this page has loaded. */
export function Report(): ReactNode {
  const [by, setBy] = useState<OversightGrouping>('approver');
  const [days, setDays] = useState(30);
  const { value: report, problem } = useLoaded(`${by} ${days}`, (signal) =>
    readOversight(by, new Date(Date.now() - days * dayMs).toISOString(), signal),
  );
  return (
    <section className="panel" aria-labelledby="oversight-report">
      <h2 id="oversight-report">How people decided</h2>
      <div className="report-choices">
        <label className="cs-field">
          <span className="cs-label">A row for each</span>
          <select
            value={by}
            onChange={(event) => setBy(groupings.find((one) => one === event.target.value) ?? 'approver')}
          >
            {groupings.map((one) => (
              <option key={one}>{one}</option>
            ))}
          </select>
        </label>
        <label className="cs-field">
          <span className="cs-label">Period</span>
          <select value={String(days)} onChange={(event) => setDays(Number(event.target.value))}>
            {periods.map(([count, words]) => (
              <option key={count} value={String(count)}>
                {words}
              </option>
            ))}
          </select>
        </label>
      </div>
      {problem !== undefined && <p className="cs-notice">{problemWords(problem, Date.now())}</p>}
      {report === undefined ? <p aria-busy={problem === undefined} /> : <ReportTable report={report} />}
    </section>
  );
}

const columns: readonly (readonly [head: string, figure: keyof OversightFigures])[] = [
  ['Decided', 'decisions'],
  ['Approved', 'approvals'],
  ['Edited', 'edits'],
  ['Denied', 'denials'],
  ['Median', 'medianMs'],
  ['90 % within', 'p90Ms'],
  ['Very fast', 'fastApprovals'],
  ['As stand-in', 'onBehalfOf'],
  ['Asked', 'requests'],
  ['Expired', 'expiries'],
  ['Escalated', 'escalations'],
  ['By silence', 'automatic'],
];

function cellWords(figures: OversightFigures, figure: keyof OversightFigures): string {
  const value = figures[figure];
  if (figure === 'medianMs' || figure === 'p90Ms') return time(value);
  return `${number(value ?? 0)}${figure === 'denials' ? rate(figures.rejectionRate) : ''}`;
}

const own = (words: string): ReactNode => <em className="cs-muted">{words}</em>;
const number = (count: number): string => count.toLocaleString('en-US');
const time = (ms: number | null): string => (ms === null ? '–' : durationWords(ms));
const percent = new Intl.NumberFormat('en-US', { style: 'percent' });
const rate = (share: number | null): string => (share === null || share === 0 ? '' : ` (${percent.format(share)})`);

type ListOf = (figure: keyof OversightFigures) => string | undefined;

/** A figure, with a link to the events behind it. */
function Cell({ words, href }: { words: string; href: string | undefined }): ReactNode {
  return href === undefined ? words : <Link href={href}>{words}</Link>;
}

function ReportTable({ report }: { report: OversightReport }): ReactNode {
  const { by, scope, fast, complete, rows, others, total } = report;
  // Attack: a tool that is called "all". The rows that are no name are set apart by their look, and have no key of a name.
  const all: (readonly [name: ReactNode, figures: OversightFigures, listOf?: ListOf])[] = [
    ...rows.map(
      ({ key, ...figures }) =>
        [
          key === null ? own('no person') : printable(key, 200),
          figures,
          (of: keyof OversightFigures) => listBehind(report, key, of),
        ] as const,
    ),
    ...(others === null ? [] : [[own(`${number(others.keys)} more`), others] as const]),
    [own('all together'), total, (of: keyof OversightFigures) => listBehind(report, undefined, of)],
  ];
  const isAuditor = useAccount().roles.includes('auditor');
  return (
    <>
      {scope === 'own' && (
        <p className="cs-muted">These are your own decisions. Auditors and admins see everybody’s.</p>
      )}
      <ScrollTable
        label="Report"
        columns={[`${by.charAt(0).toUpperCase()}${by.slice(1)}`, ...columns.map(([head]) => head)]}
      >
        {all.map(([name, figures, listOf], index) => (
          <tr key={index}>
            <th scope="row">{name}</th>
            {columns.map(([head, figure]) => (
              <td key={head} className="figure-cell">
                <Cell
                  words={cellWords(figures, figure)}
                  href={isAuditor && figures[figure] ? listOf?.(figure) : undefined}
                />
              </td>
            ))}
          </tr>
        ))}
      </ScrollTable>
      <p className="cs-hint">
        Very fast: approved in less than {durationWords(fast.baseMs)}
        {fast.perCharacterMs > 0 && ' and the time to read the arguments'}. A hint, not a proof.
        {!complete && ' The period is too long: choose a shorter one.'}
      </p>
    </>
  );
}
