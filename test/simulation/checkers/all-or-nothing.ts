import { at, eventsOf } from './checker.ts';
import type { CreateChecker } from './checker.ts';

/**
 * No member of an all-or-nothing batch runs before every other one is recorded and permitted; one end closes the rest.
 */
export const allOrNothing: CreateChecker = (site, fail) => {
  const siblings = (callId: string): readonly string[] => {
    const [requested] = eventsOf(site, callId);
    if (requested === undefined || at(requested, 'batchMode') !== 'all-or-nothing') return [];
    return (at(requested, 'batchCallIds') as string[]).filter((one) => one !== callId);
  };
  return {
    onToolBegins: ({ callId }) => {
      for (const sibling of siblings(callId)) {
        const permitted = eventsOf(site, sibling).some(
          (one) =>
            one.type === 'ToolCallAllowed' ||
            (one.type === 'ApprovalResponded' && at(one, 'resolution') === 'approved'),
        );
        if (!permitted) fail(`${callId} runs although its sibling ${sibling} is not permitted`);
      }
    },
    atEnd: () => {
      for (const [stream, events] of site.world.log.streams) {
        const callId = stream.replace(/^toolCall-/, '');
        const isBroken = events.some(({ type }) => endings.has(type) || type === 'ToolCallBlocked');
        if (!isBroken || siblings(callId).length === 0) continue;
        for (const sibling of siblings(callId)) {
          const last = eventsOf(site, sibling).at(-1)?.type ?? 'nothing';
          if (open.has(last))
            fail(`${callId} ended without running, and its sibling ${sibling} is still open after ${last}`);
        }
      }
    },
  };
};

const endings = new Set(['ApprovalExpired', 'ApprovalLapsed', 'ToolCallCancelled']);
const open = new Set(['ToolCallRequested', 'ToolCallAllowed', 'ApprovalRequested', 'nothing']);
