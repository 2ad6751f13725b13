import { hiddenByName, isBlank, maskByName } from '@countersign/contracts';
import type { HiddenValue, JsonValue } from '@countersign/contracts';
import type { Approval } from '@countersign/domain';
import type { CallRow } from './call-row.js';

/** `masked`: without the values of sensitive fields; `whole` is for the requesting agent, the claim and auditors alone. */
export type Visibility = 'whole' | 'masked';

/** Outputs and errors have no schema, so their member names decide what is sensitive. */
export function resultOf(value: JsonValue, visibility: Visibility): JsonValue {
  return visibility === 'whole' ? value : maskByName(value);
}

/** The values of a result that `resultOf` masks. */
export function hiddenInResult(value: JsonValue, visibility: Visibility): HiddenValue[] {
  return visibility === 'whole' ? [] : [...hiddenByName(value)];
}

/** Every settled call has a result for its model, so a call that did not run has a reason. */
export function errorOf(call: CallRow, visibility: Visibility): JsonValue {
  switch (call.execution.status) {
    case 'failed':
      return resultOf(call.execution.error, visibility);
    case 'unknown':
      return { code: 'unknown', message: call.execution.reason };
    case 'none':
    case 'released':
      return notRunError(call);
    case 'claimed':
    case 'succeeded':
      return null;
  }
}

function notRunError({ permission, approvals }: CallRow): JsonValue {
  const { status: code } = permission;
  switch (code) {
    case 'blocked':
    case 'cancelled':
      return { code, message: permission.reason };
    case 'denied':
      return { code, message: denialReason(approvals.at(-1)) ?? 'User denied' };
    case 'expired':
      return {
        code,
        message: permission.cause === 'lapsed' ? 'Approved, but not executed in time' : 'No person answered in time',
      };
    case 'allowed':
    case 'awaiting_approval':
    case 'approved':
      return null;
  }
}

function denialReason(approval: Approval | undefined): string | null {
  const reason = approval?.resolution.status === 'denied' ? approval.resolution.reason : null;
  return isBlank(reason ?? '') ? null : reason;
}
