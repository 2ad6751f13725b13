import { memo, useId, useState } from 'react';
import type { ReactNode } from 'react';
import type { JsonObject, JsonValue } from '@countersign/contracts';
import { choiceWords, printable } from '@countersign/text';
import { Marked } from '../../ui/marked.js';
import { exactNumber } from './exact-numbers.js';
import { emptyOf } from './fields.js';
import type { Field, Form, JsonOnly, Left } from './fields.js';
import { setAt } from './set-at.js';
import { shownName } from '../value-table.js';

/** Changes the value at a place; undefined removes it. */
type Put = (pointer: string, value: JsonValue | undefined) => void;

/** The arguments as fields. A value that the person does not touch stays exactly as it is. */
export function ArgumentsForm(props: {
  readonly value: JsonObject;
  readonly form: Form;
  readonly onChange: (value: JsonObject) => void;
}): ReactNode {
  const { value, form, onChange } = props;
  const put: Put = (pointer, next) => onChange(setAt(value, pointer, next) as JsonObject);
  return (
    <>
      <Fields fields={form.fields} put={put} />
      <LeftOut left={form.left} />
    </>
  );
}

function LeftOut({ left: { values, absent } }: { readonly left: Left }): ReactNode {
  if (values + absent === 0) return null;
  return (
    <p className="cs-notice">
      {values > 0 && `${values.toLocaleString('en-US')} more values are not in this form: see and edit them as JSON. `}
      {absent > 0 && `${absent.toLocaleString('en-US')} more that are not set can be added in the JSON.`}
    </p>
  );
}

function Fields({ fields, put }: { readonly fields: readonly Field[]; readonly put: Put }): ReactNode {
  return (
    <div className="cs-form">
      {fields.map((field) => (
        <FormField key={field.pointer} field={field} put={put} />
      ))}
    </div>
  );
}

function FormField({ field, put }: { readonly field: Field; readonly put: Put }): ReactNode {
  const id = useId();
  const { control } = field;
  if (control.kind === 'group' || control.kind === 'list') {
    return (
      <fieldset className="cs-form-group">
        <legend>
          <Name field={field} />
        </legend>
        <Hint field={field} />
        <Fields fields={control.fields} put={put} />
        <Buttons field={field} put={put} />
      </fieldset>
    );
  }
  return (
    <div className="cs-field cs-form-field">
      <label className="cs-label" htmlFor={id}>
        <Name field={field} />
      </label>
      <Hint field={field} />
      <div className="cs-form-line">
        <Control id={id} field={field} put={put} />
        <Buttons field={field} put={put} />
      </div>
    </div>
  );
}

/** The name is what the arguments have, and the type that of the value. Its title is the agent's word for it. */
const Name = memo(function Name({ field }: { readonly field: Field }): ReactNode {
  const { name, title, isRequired } = field;
  return (
    <>
      <code>
        <Marked text={/^\d+$/.test(name) ? name : shownName(name)} />
      </code>
      <span className="cs-muted">
        {typeWords(field)}
        {isRequired && ', required'}
        {title !== '' && title !== name && (
          <>
            {' · the agent calls it “'}
            <Marked text={title} />”
          </>
        )}
      </span>
    </>
  );
});

/** A number and the same digits as a text look alike in a field, and so do no value and a text that says so. */
function typeWords({ control, value }: Field): string {
  if (control.kind === 'json') return '';
  if (value === undefined) return ' not set';
  if (value === null) return ' null';
  if (control.kind === 'list') return ' list';
  return control.kind === 'group' ? ' object' : ` ${typeof value === 'string' ? 'text' : typeof value}`;
}

function Hint({ field: { hint } }: { readonly field: Field }): ReactNode {
  return hint === '' ? null : (
    <p className="cs-hint">
      The agent says: “
      <Marked text={hint} />”
    </p>
  );
}

const jsonWords: Readonly<Record<JsonOnly, string>> = {
  hidden: 'A hidden value. It stays as it is.',
  unseen: 'It has characters that a field would not show. Edit it as JSON.',
  deep: 'Too much for a form. Edit it as JSON.',
  other: 'Edit it as JSON.',
};

interface ControlProps {
  readonly id: string;
  readonly field: Field;
  readonly put: Put;
}

function Control({ id, field, put }: ControlProps): ReactNode {
  const { control, value } = field;
  const placeholder = value === null ? 'null' : 'not set';
  switch (control.kind) {
    case 'text':
      return <TextInput {...{ id, field, put, placeholder }} isLong={control.isLong} />;
    case 'number':
      return <NumberInput {...{ id, field, put, placeholder }} />;
    case 'boolean':
      return <Choice {...{ id, field, put }} choices={[true, false]} />;
    case 'choice':
      return <Choice {...{ id, field, put }} choices={control.choices} />;
    default:
      return (
        <output id={id} className="cs-muted">
          {control.kind === 'json' && jsonWords[control.why]}
        </output>
      );
  }
}

function TextInput(props: ControlProps & { readonly placeholder: string; readonly isLong: boolean }): ReactNode {
  const { id, field, put, placeholder } = props;
  const { pointer, value } = field;
  // The field stays the same while the person types. Another item may come to its place, and an input would lose its line ends.
  const [wasLong, setLong] = useState(props.isLong);
  const isLong = wasLong || (typeof value === 'string' && value.includes('\n'));
  if (isLong !== wasLong) setLong(isLong);
  const isText = typeof value === 'string';
  const shared = { id, value: isText ? value : '', placeholder: isText ? '' : placeholder, spellCheck: false };
  return isLong ? (
    <textarea {...shared} rows={4} onChange={(event) => put(pointer, event.target.value)} />
  ) : (
    <input {...shared} onChange={(event) => put(pointer, event.target.value)} />
  );
}

/** A number as it was typed, until it is one that is kept exactly. */
function NumberInput({ id, field, put, placeholder }: ControlProps & { readonly placeholder: string }): ReactNode {
  const { pointer, value } = field;
  const shown = typeof value === 'number' ? JSON.stringify(value) : '';
  const [typed, setTyped] = useState<{ readonly text: string; readonly of: string }>();
  // What another hand changed counts more than what was typed before.
  const text = typed?.of === shown ? typed.text : shown;
  const isWrong = text !== shown && exactNumber(text) === undefined;
  const change = (next: string): void => {
    const number = exactNumber(next);
    setTyped({ text: next, of: number === undefined ? shown : JSON.stringify(number) });
    if (number !== undefined) put(pointer, number);
  };
  return (
    <span className="cs-form-number">
      <input
        {...{ id, placeholder }}
        inputMode="decimal"
        value={text}
        aria-invalid={isWrong}
        onChange={(event) => change(event.target.value.trim())}
      />
      {isWrong && (
        <span className="cs-problem-line" role="alert">
          {/^-?[\d.eE+-]*\d$/.test(text) ? 'This number cannot be kept exactly.' : 'Not a number yet.'} It stays{' '}
          {shown === '' ? 'as it was' : shown}.
        </span>
      )}
    </span>
  );
}

function Choice({ id, field, put, choices }: ControlProps & { readonly choices: readonly JsonValue[] }): ReactNode {
  const { pointer, value } = field;
  const at = value === undefined ? -1 : choices.indexOf(value);
  // A value that is none of them must not look like one, either.
  const words = choiceWords(at === -1 && value !== undefined ? [...choices, value] : choices);
  return (
    <select id={id} value={String(at)} onChange={(event) => put(pointer, choices[Number(event.target.value)])}>
      {at === -1 && <option value="-1">{value === undefined ? 'not set' : words.at(-1)}</option>}
      {choices.map((_, index) => (
        <option key={index} value={index}>
          {words[index]}
        </option>
      ))}
    </select>
  );
}

/** What a field of its kind cannot say: to add, to remove, and null. */
function Buttons({ field, put }: { readonly field: Field; readonly put: Put }): ReactNode {
  const actions = field.control.kind === 'json' ? [] : [...addActions(field, put), ...takeActions(field, put)];
  return (
    <span className="cs-form-buttons">
      {actions.map(([words, act]) => (
        <button
          key={words}
          className="cs-button cs-quiet"
          type="button"
          aria-label={`${words}: ${printable(field.name, 80)}`}
          onClick={act}
        >
          {words}
        </button>
      ))}
    </span>
  );
}

type Action = readonly [words: string, act: () => void];

function addActions({ control, pointer, value }: Field, put: Put): readonly Action[] {
  if (control.kind !== 'group' && control.kind !== 'list') return [];
  if (value === undefined || value === null) return [['Set', () => put(pointer, emptyOf(control.kind, undefined))]];
  if (control.kind === 'group' || control.isFixed || !Array.isArray(value)) return [];
  const { item } = control;
  return item === undefined ? [] : [['Add', () => put(`${pointer}/${String(value.length)}`, item)]];
}

function takeActions({ pointer, value, isNullable, canRemove }: Field, put: Put): readonly Action[] {
  if (value === undefined) return [];
  return [
    ...(isNullable && value !== null ? [['null', () => put(pointer, null)] as const] : []),
    ...(canRemove ? [['Remove', () => put(pointer, undefined)] as const] : []),
  ];
}
