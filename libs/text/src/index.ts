export { foldBlankLines } from './blank-runs.js';
export { batchWords, releaseWords } from './batch-words.js';
export type { ShownBatch } from './batch-words.js';
export { choiceWords } from './choice-words.js';
export { decidedWords, doneWords, effectOf } from './decision-words.js';
export { endedWords } from './ended-words.js';
export type { EndedApproval } from './ended-words.js';
export { eventWordsOf, responderRead, withLateness, withWhy } from './event-words.js';
export type { EventWords, ReadMember } from './event-words.js';
export {
  answeredMaskNote,
  hiddenIn,
  hiddenInAnswer,
  hiddenWords,
  looksHidden,
  writtenMaskNote,
  writtenMasks,
} from './hidden-words.js';
export type { HiddenPlace } from './hidden-words.js';
export { membersOf } from './json-members.js';
export type { Member } from './json-members.js';
export { labelWords, plainLabelWords } from './label-words.js';
export { lineDiff } from './line-diff.js';
export type { DiffLine } from './line-diff.js';
export { byDeadline, byRisk, stepOf, together } from './list-order.js';
export type { ListedApproval } from './list-order.js';
export { inCode, linesOf } from './markdown.js';
export {
  lineSegments,
  markOf,
  moreCharacters,
  printable,
  quotedWords,
  replaceUnseen,
  segmentsOf,
  textOf,
} from './marks.js';
export type { MarkReason, Segment, SegmentOptions } from './marks.js';
export { chainWords, nameWords, quotedName, requesterWords, responderWords } from './people-words.js';
export type { OuterCall } from './people-words.js';
export {
  defaultWords,
  matchWords,
  passkeyWords,
  quotaWords,
  recordedRequirementWords,
  requireWords,
  thenWords,
} from './policy-words.js';
export type { RecordedRequirement, WrittenQuotas, WrittenRequire, WrittenRule } from './policy-words.js';
export { ownWordsOf } from './own-words.js';
export type { OwnWords } from './own-words.js';
export { progressLines, upcomingWords } from './progress-words.js';
export type { ProgressLine, StageProgress } from './progress-words.js';
export { endedProposalWords, questionWords } from './proposal-words.js';
export type { EndedProposal } from './proposal-words.js';
export { refusalWords } from './refusal-words.js';
export { denialWords, needsSignature, requirementWords } from './requirement-words.js';
export { isReordered, orderWarning, rightToLeftParts } from './right-to-left.js';
export { safeJson } from './safe-json.js';
export { schemaNoteWords } from './schema-note-words.js';
export { isLong, textBlocksOf } from './text-blocks.js';
export type { TextBlock } from './text-blocks.js';
export { ageWords, agoWords, deadlineWords, durationWords, ordinal, timeWords } from './time-words.js';
export { turnWords } from './turn-words.js';
