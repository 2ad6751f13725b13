import type { QuotaView } from '@countersign/contracts';
import { printable, timeWords } from '@countersign/text';
import type { Line } from './line.js';

/** The verdicts of the policy's quotas about a call: a line for each, and its refusal. */
export function quotaLines(quotas: readonly QuotaView[]): readonly Line[] {
  return quotas.flatMap((quota): Line[] => {
    const { counts, name, refusal } = quota;
    const text = printable(`Quota ${quota.quota} of the ${counts} ${name}: ${stateWords(quota)}`);
    if (refusal === null) return [{ text, tone: 'dim' }];
    return [
      { text, tone: 'red' },
      { text: printable(`  refused, ${refusal.code}: ${refusal.detail}`), tone: 'red' },
    ];
  });
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
