import { expect, it } from '@jest/globals';
import { createElement } from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import type { ApprovalView } from '@countersign/contracts';
import { DecisionForm } from './decision-form.js';

const nothing = (): void => undefined;

function formOf(requirement: object): string {
  const approval = {
    allowedDecisions: ['approve', 'deny'],
    requirement: { requireReason: [], ...requirement },
    risk: null,
  };
  return renderToStaticMarkup(
    createElement(DecisionForm, {
      approval: approval as unknown as ApprovalView,
      isOff: false,
      seen: { isAll: true, pageOn: nothing },
      remarks: { reason: '', instruction: '' },
      ...{ onRemarks: nothing, onDecide: nothing, onOpen: nothing, children: null },
    }),
  );
}

it('says beside its buttons that a denial ends the run, where the requirement says so', () => {
  const words = 'A denial ends the run: its other open calls are cancelled.';
  expect(formOf({ denyEndsRun: true })).toContain(words);
  expect(formOf({})).not.toContain('A denial');
});
