import { useEffect, useState } from 'react';
import type { ReactNode } from 'react';
import { createPortal } from 'react-dom';
import type { StopsView, StopView } from '@countersign/contracts';
import { Ago, Marked, Name, useAccount, useLoaded } from '@countersign/react/parts';
import { send } from '../api/http.js';
import { StopDialog } from './stop-dialog.js';

/** A stop that another person declares is shown after this time. */
const rereadMs = 10_000;

/** The stops in force, in a row of the page, and for admins and stoppers the button that stops everything. */
export default function Stops({ row }: { row: HTMLElement | null }): ReactNode {
  const { roles } = useAccount();
  const { value, reload } = useLoaded('stops', (signal) => send<StopsView>('GET', '/v1/stops', { signal }));
  const [isAsking, setAsking] = useState(false);
  useEffect(() => {
    const timer = setInterval(() => {
      if (!document.hidden) reload();
    }, rereadMs);
    return () => clearInterval(timer);
  }, [reload]);
  const inForce = value?.stops.filter(({ liftedAt }) => liftedAt === null) ?? [];
  return (
    <>
      {['admin', 'stopper'].some((role) => roles.includes(role)) && (
        <button className="cs-button cs-deny" type="button" onClick={() => setAsking(true)}>
          Stop
        </button>
      )}
      {row &&
        createPortal(
          inForce.map((stop) => <Banner key={stop.stopId} stop={stop} />),
          row,
        )}
      {isAsking && <StopDialog onClose={() => setAsking(false)} onDone={reload} />}
    </>
  );
}

function Banner({ stop: { stopId, scope, reason, declaredBy, declaredAt } }: { stop: StopView }): ReactNode {
  const { agentId, toolName } = scope;
  return (
    <p className="stop-banner">
      <strong>
        Stopped: {agentId === null && toolName === null && 'all calls'}
        {toolName !== null && (
          <>
            tools <Marked text={toolName} />{' '}
          </>
        )}
        {agentId !== null && (
          <>
            agents <Marked text={agentId} />
          </>
        )}
      </strong>
      , by <Name text={declaredBy} /> <Ago time={declaredAt} />: <Marked text={reason} />. You can still deny and
      cancel. An admin lifts it: <code>countersign resume {stopId}</code>
    </p>
  );
}
