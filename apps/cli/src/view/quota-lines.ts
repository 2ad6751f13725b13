import type { ExplanationView, QuotaView } from '@countersign/contracts';
import { printable, timeWords } from '@countersign/text';
import type { Line } from './line.js';

/** The verdicts of the policy's quotas about a call: a line for each, and its refusal. */
export function quotaLines({ quotas, countedFor }: Pick<ExplanationView, 'quotas' | 'countedFor'>): readonly Line[] {
  const lines = (quotas ?? []).flatMap((quota): Line[] => {
    const { counts, name, refusal } = quota;
    const text = printable(`Quota ${quota.quota} of the ${counts} ${name}: ${stateWords(quota)}`);
    if (refusal === null) return [{ text, tone: 'dim' }];
    return [
      { text, tone: 'red' },
      { text: printable(`  refused, ${refusal.code}: ${refusal.detail}`), tone: 'red' },
    ];
  });
  return countedFor?.isAssumed === true ? [...lines, assumedLine(countedFor.requestedBy)] : lines;
}

function assumedLine(requestedBy: string): Line {
  const text = `The call names no principal: counted for one of the name ${requestedBy}. Give "requestedBy" for another.`;
  return { text: printable(text), tone: 'yellow' };
}

function stateWords({ quota, limit, used, windowMs, coolDownUntil, identical }: QuotaView): string {
  const usedWords = `${String(used)} of ${String(limit)}`;
  switch (quota) {
    case 'pendingPerAgent':
      return `${usedWords} calls wait for people`;
    case 'coolDown':
      return coolDownUntil === null
        ? `${usedWords} denials in a row within ${String((windowMs ?? 0) / 60_000)} min`
        : `${usedWords} denials in a row, until ${timeWords(coolDownUntil)}`;
    case 'coalesceIdentical':
      return identical === null
        ? 'no identical call waits'
        : `the identical call ${identical.toolCallId} (${identical.callId}) waits`;
  }
}
