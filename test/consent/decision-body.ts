import type { Decision as DecisionBody } from '@countersign/contracts';
import { toArguments, toOutput } from './shown.ts';
import type { Decision } from './words.ts';

/** A decision as a client sends it. `mask` stands for the hidden value of what is asked. */
export function decisionBody(decision: Decision, mask: string | null): DecisionBody {
  switch (decision.type) {
    case 'edit': {
      const { amount, secret } = decision;
      return { type: 'edit', arguments: toArguments({ amount, secret: secret === 'kept' ? mask : secret }) };
    }
    case 'answer':
      return { type: 'answer', output: toOutput(decision) };
    default:
      return { type: decision.type };
  }
}
