import { printable } from './marks.js';

/**
 * Our sentences are made of these, and of nothing that looks like them: a full-width colon or comma has its space in it. Signs
 * inside of words, such as an apostrophe, part nothing.
 */
const sentenceParts =
  /^$|[\s,;"()›]|(?![\x20-\x7e\xb7\u055a\u05f3\u05f4\u2019\u2027\u30fb])[\p{Po}\p{Ps}\p{Pe}\p{Pi}\p{Pf}]/u;

/**
 * A foreign name inside a sentence of ours, in quotes where it could be read as a part of that sentence. The attack: an
 * agent calls itself `a, requested by alice`, or gives a label the value `staging, cwd: /srv`.
 */
export function nameWords(name: string, nameMax?: number): string {
  return printable(quotedName(name), nameMax);
}

/** The name as in `nameWords`, for a page that marks unseen characters itself. */
export function quotedName(name: string): string {
  return sentenceParts.test(name) ? JSON.stringify(name) : name;
}

/**
 * The people of a response: `bob`, or `bob for alice` when bob responded as her delegate. What a front end calls a person stands
 * behind who they are.
 */
export function responderWords({ respondedBy, respondedByName, onBehalfOf }: Responded, nameMax?: number): string {
  const called = respondedByName === undefined ? '' : ` (called ${nameWords(respondedByName, nameMax)})`;
  const name = `${nameWords(respondedBy, nameMax)}${called}`;
  return onBehalfOf === null ? name : `${name} for ${nameWords(onBehalfOf, nameMax)}`;
}

/** Who responded. */
export interface Responded {
  readonly respondedBy: string;
  readonly respondedByName?: string;
  readonly onBehalfOf: string | null;
}

/** The people behind a request: `billing-agent (owner carol, says it acts for dave)`. */
export function requesterWords(
  request: { readonly requestedBy: string; readonly owner: string | null; readonly onBehalfOf: string | null },
  nameMax?: number,
): string {
  const more = behindWords(request, nameMax);
  const name = nameWords(request.requestedBy, nameMax);
  return more.length === 0 ? name : `${name} (${more.join(', ')})`;
}

function behindWords(
  { owner, onBehalfOf }: { readonly owner: string | null; readonly onBehalfOf: string | null },
  nameMax?: number,
): readonly string[] {
  return [
    ...(owner === null ? [] : [`owner ${nameWords(owner, nameMax)}`]),
    ...(onBehalfOf === null ? [] : [`says it acts for ${nameWords(onBehalfOf, nameMax)}`]),
  ];
}

/** One call around a nested call. */
export interface OuterCall {
  readonly agentId: string;
  readonly toolName: string;
  readonly runId: string;
  readonly requestedBy: string;
  readonly owner: string | null;
  readonly onBehalfOf: string | null;
}

/**
 * The calls around a nested call, the outermost first: `delegate of planner in run run-1 › search of researcher in run
 * run-2`. A link whose principal is not the requester names it, because only the requester says that it runs inside.
 * Each link also names its agent's owner and the person for whom it says that it acts: four eyes exclude them.
 */
export function chainWords(chain: readonly OuterCall[], requestedBy: string, nameMax?: number): string {
  const name = (text: string): string => nameWords(text, nameMax);
  return chain
    .map((link) => {
      const asker = link.requestedBy === requestedBy ? [] : [`asked by ${name(link.requestedBy)}`];
      const people = [...asker, ...behindWords(link, nameMax)];
      const whose = people.length === 0 ? '' : ` (${people.join(', ')})`;
      return `${name(link.toolName)} of ${name(link.agentId)} in run ${name(link.runId)}${whose}`;
    })
    .join(' › ');
}
