import type { RespondBody, StopEffect, StopView } from '@countersign/contracts';
import { readable } from '@countersign/event-store/testing';
import { at } from './checker.ts';
import type { CreateChecker } from './checker.ts';

interface Holding {
  readonly scope: StopView['scope'];
  readonly sinceMs: number;
}

/** From the acknowledgement of a stop until it is lifted no process hands out a claim that it covers, or takes an approval. */
export const stops: CreateChecker = (site, fail) => {
  const holding = new Map<string, Holding>();
  return {
    onAcknowledged: ({ request: { kind, body, target }, reply, sentAtMs }) => {
      if (kind === 'stop' && reply.status === 201) {
        const { stop } = reply.body as StopEffect;
        if (!isLifted(stop.stopId)) holding.set(stop.stopId, { scope: stop.scope, sinceMs: site.world.clock.now() });
      }
      if (kind !== 'respond' || reply.status >= 300 || (body as RespondBody).decision.type === 'deny') return;
      for (const [stopId, { scope, sinceMs }] of holding) {
        const isEverything = scope.agentId === null && scope.toolName === null;
        if (isEverything && sentAtMs > sinceMs) fail(`${target} is answered ${reply.status} after ${stopId}`);
      }
    },
    onClaim: ({ digestInput }, by) => {
      const { agentId, runId, toolCallId, toolName } = digestInput;
      for (const [stopId, { scope }] of holding) {
        if (!names(scope.agentId, agentId) || !names(scope.toolName, toolName)) continue;
        fail(`${by} gives a claim of ${toolCallId} in ${runId} after ${stopId}`);
      }
    },
    onRecorded: (event) => {
      if (event.type === 'StopLifted') holding.delete(String(at(event, 'stopId')));
    },
  };

  /** The answer to a repeat may come after the stop was lifted. */
  function isLifted(stopId: string): boolean {
    return readable(site.world.log.events).some(
      (event) => event.type === 'StopLifted' && at(event, 'stopId') === stopId,
    );
  }
};

/** The globs of the simulated stops have a star at their end or none. */
function names(glob: string | null, name: string): boolean {
  if (glob === null) return true;
  return glob.endsWith('*') ? name.startsWith(glob.slice(0, -1)) : name === glob;
}
