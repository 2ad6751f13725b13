import { useMemo, useState } from 'react';
import type { ReactNode } from 'react';
import type { JsonValue } from '@countersign/contracts';
import { choiceWords, nameWords } from '@countersign/text';
import { answerOf, choicesIn, looksLikeJson, optionsOf } from './answer-kinds.js';
import type { AnswerKind } from './answer-kinds.js';
import { SendingDialog } from './sending-dialog.js';
import type { SendingProps } from './sending-dialog.js';

const kinds: readonly (readonly [AnswerKind, string])[] = [
  ['choice', 'One of its options'],
  ['text', 'Text'],
  ['yes-no', 'Yes or no'],
  ['number', 'Number'],
  ['json', 'JSON'],
];

/** A result given in place of running the tool. The person says what it is: nothing is guessed from the text. */
export function AnswerDialog(props: SendingProps<JsonValue>): ReactNode {
  const { approval, change, onAcknowledge, problem, isBusy, onClose, onSend } = props;
  const choices = useMemo(() => choicesIn(approval.arguments), [approval.arguments]);
  const offered = kinds.filter(([kind]) => kind !== 'choice' || choices.length > 0);
  const [chosen, setKind] = useState<AnswerKind>(offered[0]?.[0] ?? 'text');
  // An edit may have taken the options away.
  const kind = offered.some(([name]) => name === chosen) ? chosen : 'text';
  const [text, setText] = useState('');
  const [picked, setPicked] = useState('');
  const options = optionsOf(kind, choices);
  const answer = answerOf(kind, options === undefined ? text : picked, choices);
  return (
    <SendingDialog
      title={`Answer in place of ${nameWords(approval.toolName, 80)}`}
      description="The tool does not run. The agent gets this as its result."
      {...{ problem, approval, change, onAcknowledge }}
      send={{
        label: 'Send the answer',
        isReady: !isBusy && answer.status === 'ok',
        now: () => {
          if (answer.status === 'ok') void onSend(answer.value);
        },
      }}
      onClose={onClose}
    >
      <label className="cs-field">
        <span className="cs-label">The answer is</span>
        <select value={kind} onChange={(event) => setKind(event.target.value as AnswerKind)}>
          {offered.map(([name, words]) => (
            <option key={name} value={name}>
              {words}
            </option>
          ))}
        </select>
      </label>
      {options === undefined ? (
        <WrittenField {...{ kind, text }} onChange={setText} />
      ) : (
        <PickedField {...{ kind, options, picked }} onPick={setPicked} />
      )}
      <p className="cs-hint" role="status">
        {answer.status === 'open' ? answer.problem : `Sent as ${sentAs[kind]}.`}
        {kind === 'text' && looksLikeJson(text) && (
          <button className="cs-button cs-quiet" type="button" onClick={() => setKind('json')}>
            Send it as JSON
          </button>
        )}
      </p>
    </SendingDialog>
  );
}

const sentAs: Readonly<Record<AnswerKind, string>> = {
  text: 'plain text',
  choice: 'this option',
  'yes-no': 'true or false',
  number: 'a number',
  json: 'JSON',
};

/** The options come from the agent. */
function PickedField(props: {
  readonly kind: AnswerKind;
  readonly options: readonly JsonValue[];
  readonly picked: string;
  readonly onPick: (picked: string) => void;
}): ReactNode {
  const { kind, options, picked, onPick } = props;
  const words = kind === 'yes-no' ? ['Yes', 'No'] : choiceWords(options);
  return (
    <fieldset className="cs-answers">
      <legend className="cs-label">Result</legend>
      {options.map((option, index) => {
        const value = JSON.stringify(option);
        return (
          <label key={value} className="cs-check">
            <input type="radio" name="answer" checked={picked === value} onChange={() => onPick(value)} />
            {words[index]}
          </label>
        );
      })}
    </fieldset>
  );
}

function WrittenField(props: {
  readonly kind: AnswerKind;
  readonly text: string;
  readonly onChange: (text: string) => void;
}): ReactNode {
  const { kind, text, onChange } = props;
  const shared = { value: text, autoFocus: true };
  const isJson = kind === 'json';
  return (
    <label className="cs-field">
      <span className="cs-label">Result</span>
      {kind === 'number' ? (
        <input {...shared} inputMode="decimal" onChange={(event) => onChange(event.target.value)} />
      ) : (
        <textarea
          {...shared}
          className={isJson ? 'cs-mono' : ''}
          rows={8}
          onChange={(event) => onChange(event.target.value)}
        />
      )}
    </label>
  );
}
