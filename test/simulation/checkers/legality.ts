import { createLegality, readStored } from '@countersign/audit';
import type { Legality } from '@countersign/audit';
import type { CreateChecker } from './checker.ts';

/**
 * The audit's own reader of the log, which shares no rule with the product, finds each recorded event legal. It judges the
 * whole product alone: where a defence is taken out, the other checkers must notice it without help.
 */
export const legality: CreateChecker = ({ world }, fail) => {
  if (world.without !== null) return {};
  const judges = new Map<string, Legality>();
  return {
    onRecorded: (stored) => {
      const { tenant } = stored.metadata;
      const judge = judges.get(tenant) ?? createLegality(new Map());
      judges.set(tenant, judge);
      const event = readStored(stored);
      const place = `${stored.type} at revision ${String(stored.revision)} of ${stored.stream}`;
      if ('unreadable' in event) {
        fail(`${place} cannot be read: ${event.unreadable}`);
        return;
      }
      for (const { rule, detail } of judge.judge(event).illegal) fail(`${place}: ${rule}: ${detail}`);
    },
  };
};
