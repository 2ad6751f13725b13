import type { ReactNode, SubmitEvent } from 'react';
import { Marked, Name, StateBadge, countWords, problemWords, useLoaded } from '@countersign/react/parts';
import { readState } from '../api/audit.js';
import type { PersonAt, RightsOfProcess, StateAt, StopView } from '@countersign/contracts';
import { hrefs, navigate } from '../routes.js';
import { Link } from '../ui/link.js';
import { LocalTime } from '../ui/local-time.js';
import { ScrollTable } from '../ui/table.js';
import { listed, localOf, momentOf, queryOf } from './search.js';

/** The page that shows the open calls, the grants, the policy and the rights at a moment. */
export function StateView({ query }: { query: string }): ReactNode {
  const asOf = new URLSearchParams(query).get('asOf') ?? undefined;
  const { value: state, problem } = useLoaded(asOf ?? '', (signal) => readState(asOf, signal));
  const submit = (event: SubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const text = new FormData(event.currentTarget).get('asOf');
    const moment = typeof text === 'string' ? momentOf(text) : undefined;
    navigate(hrefs.state(moment === undefined ? '' : `asOf=${encodeURIComponent(moment)}`));
  };
  return (
    <>
      <form key={asOf} className="panel audit-search" aria-label="The moment" onSubmit={submit}>
        <label className="cs-field">
          <span className="cs-label">At this time (empty: now)</span>
          <input type="datetime-local" step={1} name="asOf" defaultValue={localOf(asOf)} />
        </label>
        <div className="cs-actions">
          <button className="cs-button cs-primary" type="submit">
            Show
          </button>
        </div>
      </form>
      {problem !== undefined && <p className="cs-notice">{problemWords(problem, Date.now())}</p>}
      {state === undefined && problem === undefined && (
        <p className="cs-muted" role="status">
          Reading the log up to then …
        </p>
      )}
      {state !== undefined && <State state={state} />}
    </>
  );
}

function State({
  state: { asOf, position, policy, calls, grants, rights, people, stops, unreadable, complete },
}: {
  state: StateAt;
}): ReactNode {
  return (
    <>
      <p role="status">
        As of <LocalTime time={asOf} />, after position {position.toLocaleString('en-US')} of the log.{' '}
        {policy === null ? (
          'The policy was the built-in one, or was put in force before it was recorded.'
        ) : (
          <>
            Policy <code title={policy.policyVersion}>{policy.policyVersion.slice(0, 19)}…</code>, put in force by{' '}
            <Name text={policy.activatedBy} /> on <LocalTime time={policy.activatedAt} />.
          </>
        )}
        {unreadable.length > 0 &&
          ` Not counted, because they cannot be read: the events at ${unreadable.map(String).join(', ')}.`}
        {!complete && ' There were more calls or grants than are shown here.'}
      </p>
      <h2>{countWords(stops.length, 'stop')}</h2>
      <Stops stops={stops} />
      <h2>{countWords(calls.length, 'open call')}</h2>
      <ScrollTable label="Open calls" columns={['Tool', 'State', 'Agent', 'Requested']} isPanel>
        {calls.map(({ callId, toolName, state, agentId, requestedAt }) => (
          <tr key={callId}>
            <th scope="row">
              <Link className="cs-mono" href={hrefs.search(queryOf({ callId: listed(callId) }))}>
                <Marked text={toolName} />
              </Link>
            </th>
            <td>
              <StateBadge state={state} />
            </td>
            <td>
              <Marked text={agentId} />
            </td>
            <td>
              <LocalTime time={requestedAt} />
            </td>
          </tr>
        ))}
      </ScrollTable>
      <h2>{countWords(grants.length, 'grant')}</h2>
      <ScrollTable label="Grants" columns={['Tool', 'State', 'By', 'Grant']} isPanel>
        {grants.map(({ grantId, toolName, state, createdBy }) => (
          <tr key={grantId}>
            <th scope="row">
              <Marked text={toolName} />
            </th>
            <td>{state}</td>
            <td>
              <Marked text={createdBy} />
            </td>
            <td className="cs-mono">{grantId}</td>
          </tr>
        ))}
      </ScrollTable>
      <h2>{countWords(rights.length, 'credential')}</h2>
      <ScrollTable label="Rights" columns={['Principal', 'Roles', 'Groups', 'Agents', 'Credential']} isPanel>
        {rights.map((one) => (
          <RightsRow key={`${one.processId} ${one.credential ?? one.principal}`} rights={one} />
        ))}
      </ScrollTable>
      <h2>{countWords(people.length, 'person of the policy', 'people of the policy')}</h2>
      <People people={people} />
    </>
  );
}

function Stops({ stops }: { stops: readonly StopView[] }): ReactNode {
  return (
    <ScrollTable label="Stops" columns={['Tools', 'Agents', 'By', 'Since', 'Why']} isPanel>
      {stops.map(({ stopId, scope: { toolName, agentId }, declaredBy, declaredAt, reason }) => (
        <tr key={stopId}>
          <th scope="row">
            <Marked text={toolName ?? 'all'} />
          </th>
          <td>
            <Marked text={agentId ?? 'all'} />
          </td>
          <td>
            <Marked text={declaredBy} />
          </td>
          <td>
            <LocalTime time={declaredAt} />
          </td>
          <td>
            <Marked text={reason} />
          </td>
        </tr>
      ))}
    </ScrollTable>
  );
}

function People({ people }: { people: readonly PersonAt[] }): ReactNode {
  return (
    <ScrollTable label="People of the policy" columns={['Person', 'Groups', 'Who may answer for them']} isPanel>
      {people.map(({ principal, groups, delegates }) => (
        <tr key={principal}>
          <th scope="row">
            <Marked text={principal} />
          </th>
          <td>
            <Marked text={groups.join(', ')} />
          </td>
          <td>
            <Marked text={delegates.map(({ to }) => to).join(', ')} />
          </td>
        </tr>
      ))}
    </ScrollTable>
  );
}

function RightsRow({
  rights: { principal, roles, groups, agentIds, credential },
}: {
  rights: RightsOfProcess;
}): ReactNode {
  const cells = [roles.join(', '), groups.join(', '), agentIds.join(', '), credential ?? ''];
  return (
    <tr>
      <th scope="row">
        <Link href={hrefs.search(queryOf({ actor: listed(principal) }))}>
          <Marked text={principal} />
        </Link>
      </th>
      {cells.map((text, index) => (
        <td key={index}>
          <Marked text={text} />
        </td>
      ))}
    </tr>
  );
}
