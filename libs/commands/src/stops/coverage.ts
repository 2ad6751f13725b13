import { matchesGlob } from '@countersign/contracts';
import type { ChainLink } from '@countersign/contracts';
import { isInForce } from '@countersign/domain';
import type { Stop } from '@countersign/domain';

/** What a stop is compared with: a call, and the calls around it. */
export interface StoppableCall {
  readonly tenant: string;
  readonly agentId: string;
  readonly toolName: string;
  readonly chain?: readonly Pick<ChainLink, 'agentId' | 'toolName'>[] | undefined;
}

/**
 * Returns whether a stop covers a call. Attack: an agent that is stopped has another agent work for it, so the calls around a
 * nested call count like itself.
 */
export function isCovered({ scope }: Pick<Stop, 'scope'>, call: StoppableCall): boolean {
  if (scope.tenant !== null && scope.tenant !== call.tenant) return false;
  return [call, ...(call.chain ?? [])].some(
    ({ agentId, toolName }) => names(scope.agentId, agentId) && names(scope.toolName, toolName),
  );
}

function names(glob: string | null, name: string): boolean {
  return glob === null || matchesGlob(glob, name);
}

/** The stops whose scope covers a call, in force or lifted. */
export function stopsOver(stops: readonly Stop[], call: StoppableCall): readonly Stop[] {
  return stops.filter((stop) => isCovered(stop, call));
}

/** Returns the stop that holds back a call; undefined when none does. */
export function stopOf(stops: readonly Stop[], call: StoppableCall): Stop | undefined {
  return stopsOver(stops, call).find(isInForce);
}

/** Returns whether a stop held back a call at any time since that moment (ms since the epoch). */
export function wasStoppedSince(stops: readonly Stop[], call: StoppableCall, sinceMs: number): boolean {
  return stops.some((stop) => isCovered(stop, call) && (stop.lifted === null || Date.parse(stop.lifted.at) >= sinceMs));
}
