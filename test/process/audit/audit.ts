import type { Journal } from '../traffic/journal.js';
import { acknowledgementComplaints } from './acknowledgements.js';
import { executionComplaints } from './executions.js';
import { grantComplaints } from './grants.js';
import { byCall } from './log.js';
import type { CallEvent, Entry } from './log.js';
import { approvalComplaints, claimComplaints, endComplaints, logComplaints } from './rules.js';
import type { CallHistory, Histories } from './rules.js';
import { standingsOf } from './standing.js';

/**
 * The independent audit. It shares only the formats with the product: it folds, counts and computes digests itself, and
 * compares the log with the clients' records and the executions. Returns the problems, in words.
 */
export function audit(entries: readonly Entry[], journal: Journal): readonly string[] {
  const complaints: string[] = [...logComplaints(entries)];
  const histories = historiesOf(entries, complaints);
  for (const history of histories.values()) {
    complaints.push(...approvalComplaints(history), ...claimComplaints(history, histories), ...endComplaints(history));
  }
  return [
    ...complaints,
    ...executionComplaints(journal.executions, histories),
    ...acknowledgementComplaints(journal.acknowledgements, histories),
    ...grantComplaints(entries, journal.grants, histories),
    ...journal.surprises.map((surprise) => `a client was surprised: ${surprise}`),
  ];
}

function historiesOf(entries: readonly Entry[], complaints: string[]): Histories {
  const histories = new Map<string, CallHistory>();
  for (const [callId, events] of byCall(entries)) {
    const history = historyOf(callId, events);
    if (typeof history === 'string') complaints.push(history);
    else histories.set(callId, history);
  }
  return histories;
}

function historyOf(callId: string, events: readonly CallEvent[]): CallHistory | string {
  try {
    return { callId, events, standings: standingsOf(events) };
  } catch (error) {
    return `the history of ${callId} cannot be: ${String(error)}`;
  }
}
