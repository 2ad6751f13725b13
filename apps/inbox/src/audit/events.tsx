import { memo, useState } from 'react';
import type { ReactNode } from 'react';
import type { EventView, LogEventView } from '@countersign/contracts';
import { Marked, Name, countWords, eventWords, problemWords } from '@countersign/react/parts';
import { hrefs } from '../routes.js';
import { Link } from '../ui/link.js';
import { LocalTime } from '../ui/local-time.js';
import { listed, queryOf } from './search.js';
import type { FoundEvents } from './use-log.js';

/** The events that a search found, as a timeline, and the way to the next ones. */
export function Events({ events, isLoading, hasMore, problem, more }: FoundEvents): ReactNode {
  return (
    <section className="panel" aria-label="Events" aria-busy={isLoading}>
      <p className="cs-muted" role="status">
        {statusWords(events.length, isLoading, hasMore)}
      </p>
      {problem !== undefined && <p className="cs-notice">{problemWords(problem, Date.now())}</p>}
      {!isLoading && problem === undefined && events.length === 0 && (
        <p className="nothing cs-muted">No event fits this search.</p>
      )}
      <ol className="timeline" aria-label="Timeline">
        {events.map((event) => (
          <Event key={event.eventId} event={event} />
        ))}
      </ol>
      {hasMore && !isLoading && (
        <button className="cs-button" type="button" onClick={more}>
          {problem === undefined || problem.code === 'log-damaged' ? 'Show more' : 'Try again'}
        </button>
      )}
    </section>
  );
}

function statusWords(count: number, isLoading: boolean, hasMore: boolean): string {
  const found = countWords(count, 'event');
  if (isLoading) return count === 0 ? 'Looking through the log …' : `${found}, loading more …`;
  return hasMore ? `${found}, and there is more to look through` : `${found}, that is all`;
}

const Event = memo(function Event({ event }: { event: LogEventView }): ReactNode {
  const { type, recordedAt, position, actor, callId, runId, toolName } = event;
  const { id = null, onBehalfOf = null } = actor ?? {};
  return (
    <li data-type={type}>
      <span className="timeline-words">
        <Words event={event} />
      </span>
      <span className="timeline-meta">
        <LocalTime time={recordedAt} />
        <Found name="actor" value={id} />
        {onBehalfOf !== id && <Found name="actor" value={onBehalfOf} words="for " />}
        <Found name="callId" value={callId} shown={toolName ?? undefined} />
        <Found name="runId" value={runId} words="run " /> · {type} · position {position.toLocaleString('en-US')}
      </span>
      <Recorded event={event} />
    </li>
  );
});

function Words({ event }: { event: LogEventView }): ReactNode {
  if (event.data !== null) return eventWords(event as EventView);
  return (
    <>
      This version cannot read the event: <Marked text={event.unreadable ?? 'it does not say why'} />
    </>
  );
}

/** A link to the timeline of a person, a call or a run. */
function Found(props: {
  name: 'actor' | 'callId' | 'runId';
  value: string | null;
  shown?: string | undefined;
  words?: string;
}): ReactNode {
  const { name, value, shown, words = '' } = props;
  if (value === null) return null;
  return (
    <>
      {' · '}
      {words}
      <Link href={hrefs.search(queryOf({ [name]: listed(value) }))}>
        <Name text={shown ?? value} />
      </Link>
    </>
  );
}

/** The event as it is recorded. It may be long, so it is drawn when it is opened. */
function Recorded({ event }: { event: LogEventView }): ReactNode {
  const [isOpen, setOpen] = useState(false);
  return (
    <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>As recorded</summary>
      {isOpen && (
        <pre className="cs-outcome" tabIndex={0} aria-label={`${event.type} as recorded`}>
          <Marked text={JSON.stringify(event, null, 2)} keepsLines />
        </pre>
      )}
    </details>
  );
}
