import type { EventType } from './events.js';

/**
 * A stable code for each type of event, for rules in a SIEM. A type may get another name in a later version; its code stays,
 * and no other type gets it.
 */
export const eventCodes: Readonly<Record<EventType, string>> = {
  ToolCallRequested: 'CS101',
  ToolCallAllowed: 'CS102',
  ToolCallBlocked: 'CS103',
  ToolCallQueued: 'CS108',
  ToolCallShadowJudged: 'CS104',
  ToolCallCancelled: 'CS105',
  ToolCallCommitted: 'CS106',
  RequestRefused: 'CS107',
  RunCancelled: 'CS110',
  BatchBegun: 'CS111',
  BatchBroken: 'CS112',
  ApprovalRequested: 'CS201',
  ApprovalDescribed: 'CS202',
  ApprovalResponded: 'CS203',
  ResponseWithdrawn: 'CS204',
  ValuesRevealed: 'CS205',
  ApprovalExpired: 'CS206',
  ApprovalEscalated: 'CS207',
  ApproversReminded: 'CS208',
  ApprovalLapsed: 'CS209',
  ExecutionClaimed: 'CS301',
  ExecutionClaimRenewed: 'CS302',
  ExecutionSucceeded: 'CS303',
  ExecutionFailed: 'CS304',
  ExecutionLapsed: 'CS305',
  ExecutionOutcomeUnknown: 'CS306',
  ExecutionReconciled: 'CS307',
  PolicyActivated: 'CS401',
  ShadowPolicyActivated: 'CS402',
  GrantProposed: 'CS501',
  GrantCreated: 'CS502',
  GrantConfirmed: 'CS503',
  GrantUsed: 'CS504',
  GrantRevoked: 'CS505',
  NotificationDelivered: 'CS601',
  NotificationUpdated: 'CS602',
  NotificationFailed: 'CS603',
  NotificationClaimed: 'CS604',
  ChannelActivated: 'CS605',
  ChannelSwitchedOff: 'CS606',
  SubjectErased: 'CS701',
  PasskeyRegistered: 'CS711',
  PasskeyConfirmed: 'CS712',
  PasskeyRemoved: 'CS713',
  ProcessStarted: 'CS801',
  ConfigurationChanged: 'CS802',
  ConfigurationRefused: 'CS803',
  KeysRotated: 'CS804',
  LogEndAccepted: 'CS805',
  LogRestored: 'CS806',
  LogKeyChanged: 'CS807',
  StopDeclared: 'CS808',
  StopLifted: 'CS809',
  Backup: 'CS810',
  SignedIn: 'CS901',
  SignInRefused: 'CS902',
  AuditRead: 'CS903',
};

/** The code of an event that this version cannot read. */
const unreadableCode = 'CS000';

/** Returns the stable code of a type of event; `CS000` for a type that this version does not know. */
export function codeOfEvent(type: string): string {
  return Object.hasOwn(eventCodes, type) ? eventCodes[type as EventType] : unreadableCode;
}
