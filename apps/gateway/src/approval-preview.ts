import type { ApprovalView, JsonObject, JsonValue } from '@countersign/contracts';
import { moreCharacters } from '@countersign/text';

/** An approval with less JSON than this is listed whole. */
const wholeMax = 8 * 1024;

const textMax = 400;
const membersMax = 12;
const levelsMax = 4;
/** The most characters of the arguments. They get more room than other members, because people look for them in a list. */
const argumentsMax = 3000;

/**
 * An approval as a list shows it: what is long is cut, each cut has a mark in its place, and `isPreview` says so. A
 * small approval is whole.
 */
export function previewOf(view: ApprovalView): ApprovalView {
  if (JSON.stringify(view).length <= wholeMax) return view;
  const { arguments: args, labels, responses, instructions, chain, batch, proposal } = view;
  return {
    ...view,
    isPreview: true,
    arguments: cutObject(args, { left: argumentsMax }),
    description: view.description === null ? null : cutText(view.description, textMax),
    toolDescription: view.toolDescription === null ? null : cutText(view.toolDescription, textMax),
    metadata: view.metadata === null ? null : cutObject(view.metadata, { left: textMax }),
    reason: view.reason === null ? null : cutText(view.reason, textMax),
    labels: Object.fromEntries(Object.entries(labels).slice(0, membersMax)),
    hiddenValues: view.hiddenValues.slice(0, membersMax),
    ...(view.schemaNotes !== undefined && { schemaNotes: view.schemaNotes.slice(0, levelsMax) }),
    chain: chain.slice(-levelsMax),
    batch: batch === null ? null : { ...batch, callIds: batch.callIds.slice(0, membersMax) },
    proposal: {
      ...proposal,
      output: cutValue(proposal.output, { left: textMax }, 0),
      ...(proposal.hiddenValues !== undefined && { hiddenValues: proposal.hiddenValues.slice(0, membersMax) }),
    },
    instructions: instructions
      .slice(-levelsMax)
      .map((one) => ({ ...one, instruction: cutText(one.instruction, textMax) })),
    endedProposals: view.endedProposals.slice(-levelsMax),
    responses: responses.slice(-membersMax).map(cutResponse),
    progress: view.progress.map(({ approvedBy, deniedBy, ...more }) => ({
      ...more,
      approvedBy: approvedBy.slice(-membersMax),
      deniedBy: deniedBy.slice(-membersMax),
    })),
  };
}

type Response = ApprovalView['responses'][number];

function cutResponse(response: Response): Response {
  const { decision, reason } = response;
  return { ...response, decision: cutDecision(decision), reason: reason === null ? null : cutText(reason, textMax) };
}

function cutDecision(decision: Response['decision']): Response['decision'] {
  switch (decision.type) {
    case 'edit':
      return { type: 'edit', arguments: cutObject(decision.arguments, { left: textMax }) };
    case 'answer':
      return { type: 'answer', output: cutValue(decision.output, { left: textMax }, 0) };
    case 'approve':
    case 'deny':
      return decision;
  }
}

/** How many characters may still be shown. */
interface Room {
  left: number;
}

function cutText(text: string, charactersMax: number): string {
  if (text.length <= charactersMax) return text;
  // A cut between the two halves of a character would leave no character.
  const shown = text.slice(0, charactersMax).toWellFormed();
  return `${shown}${moreCharacters(text.length - charactersMax)}`;
}

function cutValue(value: JsonValue, room: Room, level: number): JsonValue {
  if (typeof value === 'string') {
    const shown = cutText(value, Math.max(0, Math.min(textMax, room.left)));
    room.left -= Math.min(shown.length, textMax);
    return shown;
  }
  if (typeof value !== 'object' || value === null) {
    room.left -= 8;
    return value;
  }
  if (level >= levelsMax || room.left <= 0) return '⟦more is not shown⟧';
  return isList(value) ? cutList(value, room, level) : cutObject(value, room, level);
}

function isList(value: JsonObject | readonly JsonValue[]): value is readonly JsonValue[] {
  return Array.isArray(value);
}

function cutList(list: readonly JsonValue[], room: Room, level: number): JsonValue {
  const shown = list.slice(0, membersMax).map((one) => cutValue(one, room, level + 1));
  return list.length <= membersMax ? shown : [...shown, `⟦${String(list.length - membersMax)} more⟧`];
}

function cutObject(object: JsonObject, room: Room, level = 0): JsonObject {
  const names = Object.keys(object);
  const shown = names.slice(0, membersMax).map((name) => {
    room.left -= Math.min(name.length, textMax);
    return [cutText(name, textMax), cutValue(object[name] ?? null, room, level + 1)] as const;
  });
  const left = names.length - membersMax;
  return Object.fromEntries(left <= 0 ? shown : [...shown, ['⟦more⟧', `⟦${String(left)} more members⟧`]]);
}
