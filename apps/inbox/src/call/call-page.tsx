import { useState } from 'react';
import type { ReactNode } from 'react';
import type { EventView, ToolCallView } from '@countersign/contracts';
import { durationWords, safeJson } from '@countersign/text';
import {
  Arguments,
  ArgumentsChange,
  CopyButton,
  Marked,
  Name,
  Outcome,
  StateBadge,
  callEventTypes,
  eventWords,
  glanceOf,
  readCall,
  useAccount,
  useLoaded,
  useNews,
} from '@countersign/react/parts';
import { readCallEvents } from '../api/call-events.js';
import { client } from '../api/client.js';
import { hrefs } from '../routes.js';
import { Link } from '../ui/link.js';
import { LocalTime } from '../ui/local-time.js';
import { WaitingPage } from '../ui/waiting-page.js';
import { ReconcileDialog } from '../unknown/reconcile-dialog.js';

/** One call: its arguments, its result, and every recorded event. */
export default function CallPage({ callId }: { callId: string }): ReactNode {
  const { value, problem, reload } = useLoaded(callId, async (signal) => {
    const [call, events] = await Promise.all([
      readCall(client, callId, signal),
      readCallEvents(callId, callEventTypes, signal),
    ]);
    return { call, events };
  });
  useNews({ callId }, reload);
  const isAuditor = useAccount().roles.includes('auditor');
  if (value === undefined) return <WaitingPage problem={problem} missing="There is no such call." />;
  const { call, events } = value;
  return (
    <main className="page">
      <header className="page-head">
        <h1 className="cs-mono">
          <Marked text={call.toolName} />
        </h1>
        <StateBadge state={call.state} waitsForTurn={call.waitsForTurn} />
      </header>
      <p className="cs-muted">
        <Name text={call.agentId} /> in run{' '}
        <Link href={hrefs.run(call.runId)}>
          <Name text={call.runId} />
        </Link>
        {call.approval !== null && (
          <>
            {' · '}
            <Link href={hrefs.approval(call.approval.approvalId)}>its approval</Link>
          </>
        )}
        {' · '}
        <Link href={hrefs.explain(callId)}>explain by the policy</Link>
        {isAuditor && (
          <>
            {' · '}
            <Link href={hrefs.search(`callId=${encodeURIComponent(callId)}`)}>in the log</Link>
          </>
        )}
        {call.state === 'unknown' && (
          <>
            {' · '}
            <Link href={hrefs.unknown}>say what happened</Link>
          </>
        )}
      </p>
      <p className="cs-muted">
        <code>{call.callId}</code> <CopyButton label="Copy the call id" text={() => call.callId} />
      </p>
      {isReleased(call, events) && <Released call={call} onDone={reload} />}
      {call.unreadable && (
        <p className="cs-problem-line">Cannot be read, so nothing is decided: {call.unreadable.why}</p>
      )}
      {call.heldBy !== undefined && <Held by={call.heldBy} />}
      <div className="two">
        <section aria-labelledby="call-arguments" className="panel">
          <div className="cs-section-head">
            <h2 id="call-arguments">Arguments</h2>
            <CopyButton label="Copy the arguments as JSON" text={() => safeJson(call.arguments, 2)} />
          </div>
          <Arguments value={call.arguments} hiddenValues={call.approval?.hiddenValues} />
          {call.originalArguments !== undefined && (
            <>
              <h3>What an approver changed</h3>
              <ArgumentsChange before={call.originalArguments} after={call.arguments} />
            </>
          )}
          <Outcome call={call} />
        </section>
        <section aria-labelledby="call-timeline" className="panel">
          <h2 id="call-timeline">Timeline</h2>
          <Timeline events={events} />
        </section>
      </div>
    </main>
  );
}

/** For whom a call waits, and what a person can do. */
function Held({ by }: { by: string }): ReactNode {
  return (
    <p className="cs-problem-line">
      Waits for <Link href={hrefs.call(by)}>a call</Link> that cannot be read and may be running. A version that reads
      it goes on. Or cancel the run: what waits ends, and later calls pass (<code>countersign cancel --run</code>).
    </p>
  );
}

/** Lets an admin say what happened. */
function Released({ call, onDone }: { call: ToolCallView; onDone: () => void }): ReactNode {
  const [isOpen, setOpen] = useState(false);
  if (!useAccount().roles.includes('admin')) return null;
  return (
    <>
      <p className="cs-actions">
        It was claimed, and can be claimed again.
        <button className="cs-button" type="button" onClick={() => setOpen(true)}>
          Reconcile…
        </button>
      </p>
      {isOpen && <ReconcileDialog call={call} onClose={() => setOpen(false)} onDone={onDone} />}
    </>
  );
}

/** It was claimed, and can be claimed again: where nobody does, a person says what happened. */
function isReleased({ state }: ToolCallView, events: readonly EventView[]): boolean {
  return (state === 'allowed' || state === 'approved') && events.some(({ type }) => type === 'ExecutionClaimed');
}

function Timeline({ events }: { events: readonly EventView[] }): ReactNode {
  return (
    <ol className="timeline">
      {events.map((event, index) => {
        const before = events[index - 1];
        const stepMs = before === undefined ? 0 : Date.parse(event.recordedAt) - Date.parse(before.recordedAt);
        return (
          <li key={event.eventId} data-type={event.type} title={glanceOf({ revision: event.revision })}>
            <span className="timeline-words">{eventWords(event)}</span>
            <span className="timeline-meta">
              <LocalTime time={event.recordedAt} />
              {stepMs >= 1000 && ` · ${durationWords(stepMs)} later`} · {event.type}
            </span>
          </li>
        );
      })}
    </ol>
  );
}
