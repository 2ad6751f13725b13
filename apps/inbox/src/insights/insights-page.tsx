import { useMemo } from 'react';
import type { ReactNode } from 'react';
import { durationWords, printable } from '@countersign/text';
import { outcomes } from '../history/outcomes.js';
import { useDecided } from '../history/use-decided.js';
import { Report } from '../oversight/report.js';
import { Table } from '../ui/table.js';
import { Bars, Columns, Histogram, Legend } from './charts.js';
import { byApprover, byTool, decisionTimes, volume } from './statistics.js';
import type { Tally } from './statistics.js';

/** The volume of requests, the response times and the outcomes, to detect approval fatigue. */
export default function InsightsPage(): ReactNode {
  const { approvals, isLoading, isPartial, problem } = useDecided();
  const overTime = useMemo(() => volume(approvals, Date.now()), [approvals]);
  const times = useMemo(() => decisionTimes(approvals), [approvals]);
  const tools = useMemo(() => byTool(approvals), [approvals]);
  const people = useMemo(() => byApprover(approvals), [approvals]);
  return (
    <main className="page flow" aria-busy={isLoading}>
      <header className="page-head">
        <h1>Oversight</h1>
        <span className="cs-muted" role="status">
          {isLoading
            ? 'Loading …'
            : `${approvals.length.toLocaleString('en-US')} decided approvals${isPartial ? ', the latest' : ''}`}
        </span>
      </header>
      {problem !== undefined && <p className="cs-notice">{problem.detail}</p>}
      <Report />
      <h2>Decided lately</h2>
      <dl className="figures">
        <Figure name="Decided" value={approvals.length.toLocaleString('en-US')} />
        <Figure name="Median time to decision" value={words(times.medianMs)} />
        <Figure name="Slowest twentieth" value={words(times.slowMs)} />
        <Figure name="Approved within 2 s" value={times.hastyCount.toLocaleString('en-US')} />
      </dl>
      <Legend />
      <div className="charts">
        <Chart title="Volume" table={<TallyTable tallies={overTime} name="When" />}>
          <Columns tallies={overTime} label="Approvals that ended, over time, by outcome" />
        </Chart>
        <Chart
          title="Time to decision"
          table={
            <SmallTable head={['Time', 'Decisions']} rows={times.buckets.map(({ name, count }) => [name, count])} />
          }
        >
          <Histogram buckets={times.buckets} label="How long people took to decide" />
        </Chart>
        <Chart title="Outcome by tool" table={<TallyTable tallies={tools} name="Tool" />}>
          <Bars tallies={tools} label="How the calls of each tool ended" />
        </Chart>
        <Chart title="Outcome by approver" table={<TallyTable tallies={people} name="Approver" />}>
          <Bars tallies={people} label="How the approvals ended that each person answered" />
        </Chart>
      </div>
    </main>
  );
}

function words(ms: number | undefined): string {
  return ms === undefined ? '–' : durationWords(ms);
}

function Figure({ name, value }: { name: string; value: string }): ReactNode {
  return (
    <div className="figure">
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  );
}

function Chart(props: { title: string; table: ReactNode; children: ReactNode }): ReactNode {
  return (
    <section className="panel" aria-label={props.title}>
      <h2>{props.title}</h2>
      {props.children}
      <details>
        <summary>As a table</summary>
        {props.table}
      </details>
    </section>
  );
}

function TallyTable({ tallies, name }: { tallies: readonly Tally[]; name: string }): ReactNode {
  return (
    <SmallTable
      head={[name, ...outcomes, 'total']}
      rows={tallies.map((tally) => [
        printable(tally.name, 60),
        ...outcomes.map((outcome) => tally.counts[outcome]),
        tally.total,
      ])}
    />
  );
}

function SmallTable(props: { head: readonly string[]; rows: readonly (readonly (string | number)[])[] }): ReactNode {
  return (
    <Table columns={props.head} isSmall>
      {props.rows.map(([name, ...counts]) => (
        <tr key={name}>
          <th scope="row">{name}</th>
          {counts.map((count, index) => (
            <td key={index}>{count}</td>
          ))}
        </tr>
      ))}
    </Table>
  );
}
