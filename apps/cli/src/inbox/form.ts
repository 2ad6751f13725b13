import type { ApprovalView, DecisionType, JsonObject } from '@countersign/contracts';
import { shownOf } from '../commands/respond.js';
import type { DecisionToSend, Remarks } from '../commands/respond.js';
import { codePointsOf } from '../text/printable.js';
import type { Key } from './keys.js';

/** A field that is being filled in. */
export interface Field {
  readonly name: 'output' | 'reason' | 'instruction';
  readonly label: string;
  readonly text: string;
}

/** A response in preparation, bound to the approval that was on the screen when it was begun. */
export interface Form {
  readonly type: DecisionType;
  readonly approval: ApprovalView;
  readonly fields: readonly Field[];
  readonly active: number;
  /** The replacement arguments, as value and as text. */
  readonly edited?: { readonly value: JsonObject; readonly text: string };
}

/** An empty form for a decision. */
export function createForm(type: DecisionType, approval: ApprovalView, edited?: Form['edited']): Form {
  const needsReason = approval.requirement.requireReason.includes(type);
  const remarks: Field[] = [
    { name: 'reason', label: needsReason ? 'Reason (required)' : 'Reason', text: '' },
    { name: 'instruction', label: 'Instruction', text: '' },
  ];
  const output: Field = { name: 'output', label: 'Result', text: '' };
  const fields = type === 'answer' ? [output, ...remarks] : remarks;
  return edited === undefined ? { type, approval, fields, active: 0 } : { type, approval, fields, active: 0, edited };
}

/** Returns the form after a key: another field is active, or the text of the active field changed. */
export function typeInto(form: Form, key: Key): Form {
  const { length } = form.fields;
  switch (key.name) {
    case 'tab':
    case 'down':
      return { ...form, active: (form.active + 1) % length };
    case 'backtab':
    case 'up':
      return { ...form, active: (form.active + length - 1) % length };
    default:
      return {
        ...form,
        fields: form.fields.map((field, index) => (index === form.active ? typed(field, key) : field)),
      };
  }
}

function typed(field: Field, key: Key): Field {
  const { text } = field;
  switch (key.name) {
    case 'character':
      return { ...field, text: text + key.text };
    case 'paste':
      // A field is one line. A pasted line end becomes a space and submits nothing.
      return { ...field, text: text + key.text.trimEnd().replaceAll(/[\r\n\t]+/g, ' ') };
    case 'backspace':
      return { ...field, text: codePointsOf(text).slice(0, -1).join('') };
    case 'erase-word':
      return { ...field, text: text.replace(/\S*\s*$/, '') };
    case 'erase-line':
      return { ...field, text: '' };
    default:
      return field;
  }
}

function textOf(form: Form, name: Field['name']): string {
  return form.fields.find((field) => field.name === name)?.text.trim() ?? '';
}

/** A result as it was typed: JSON where it is JSON, plain text otherwise. */
export function resultOf(text: string): { readonly kind: 'json' | 'text'; readonly json: string } {
  const trimmed = text.trim();
  try {
    JSON.parse(trimmed);
    return { kind: 'json', json: trimmed };
  } catch {
    return { kind: 'text', json: JSON.stringify(trimmed) };
  }
}

/** Returns what a completed form submits, or the field that is still missing. */
export function submission(
  form: Form,
):
  | { readonly decision: DecisionToSend; readonly remarks: Remarks }
  | { readonly missing: string; readonly field: Field['name'] } {
  const { type, approval, edited } = form;
  const reason = textOf(form, 'reason');
  const output = textOf(form, 'output');
  if (type === 'answer' && output === '') return { missing: 'The result is empty.', field: 'output' };
  if (reason === '' && approval.requirement.requireReason.includes(type))
    return { missing: 'A reason is required here.', field: 'reason' };
  const instruction = textOf(form, 'instruction');
  const remarks = { reason, instruction, ...shownOf(approval) };
  if (type === 'answer') return { decision: { type, outputJson: resultOf(output).json }, remarks };
  if (type === 'edit') return { decision: { type, argumentsJson: edited?.text ?? 'null' }, remarks };
  return { decision: { type }, remarks };
}
