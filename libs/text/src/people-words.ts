import type { ReadMember } from './event-words.js';
import { printable } from './marks.js';

/** The people of a response: `bob`, or `bob for alice` when bob responded as her delegate. */
export function responderWords(
  { respondedBy, onBehalfOf }: { readonly respondedBy: string; readonly onBehalfOf: string | null },
  nameMax?: number,
): string {
  const name = printable(respondedBy, nameMax);
  return onBehalfOf === null ? name : `${name} for ${printable(onBehalfOf, nameMax)}`;
}

/** The people of a recorded response, out of its event. */
export function responderRead(read: ReadMember): string {
  const person = read('onBehalfOf');
  return person === '' ? read('respondedBy') : `${read('respondedBy')} for ${person}`;
}

/** The people behind a request: `billing-agent (owner carol, says it acts for dave)`. */
export function requesterWords(
  request: { readonly requestedBy: string; readonly owner: string | null; readonly onBehalfOf: string | null },
  nameMax?: number,
): string {
  const { requestedBy, owner, onBehalfOf } = request;
  const more = [
    ...(owner === null ? [] : [`owner ${printable(owner, nameMax)}`]),
    ...(onBehalfOf === null ? [] : [`says it acts for ${printable(onBehalfOf, nameMax)}`]),
  ];
  const name = printable(requestedBy, nameMax);
  return more.length === 0 ? name : `${name} (${more.join(', ')})`;
}

/** One call around a nested call. */
export interface OuterCall {
  readonly agentId: string;
  readonly toolName: string;
  readonly runId: string;
  readonly requestedBy: string;
}

/**
 * The calls around a nested call, the outermost first: `delegate of planner in run run-1 › search of researcher in run
 * run-2`. A link whose principal is not the requester names it, because only the requester says that it runs inside.
 */
export function chainWords(chain: readonly OuterCall[], requestedBy: string, nameMax?: number): string {
  const name = (text: string): string => printable(text, nameMax);
  return chain
    .map((link) => {
      const whose = link.requestedBy === requestedBy ? '' : ` (asked by ${name(link.requestedBy)})`;
      return `${name(link.toolName)} of ${name(link.agentId)} in run ${name(link.runId)}${whose}`;
    })
    .join(' › ');
}
