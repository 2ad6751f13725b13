import { useState } from 'react';
import type { ReactNode } from 'react';
import type { PasskeyView } from '@countersign/contracts';
import { Name, onPress, problemOf, problemWords, useAccount, useLoaded } from '@countersign/react/parts';
import { confirmPasskey, listPasskeys, registerPasskey, removePasskey } from './passkeys.js';

/** The passkeys with which a person signs, and those of others that wait for a confirmation. */
export default function PasskeysPage(): ReactNode {
  const { principal, tenant } = useAccount();
  const { value, problem, reload } = useLoaded('passkeys', (signal) => listPasskeys('all', signal));
  const [words, setWords] = useState('');
  const [name, setName] = useState('');
  const own = value?.filter((one) => one.principal === principal) ?? [];
  const waiting = value?.filter((one) => one.status === 'waiting' && one.principal !== principal) ?? [];
  const act = (work: () => Promise<unknown>): void => {
    setWords('');
    work().then(
      () => reload(),
      (error: unknown) => setWords(problemWords(problemOf(error), Date.now())),
    );
  };
  const confirm = (one: PasskeyView) => () => act(() => confirmPasskey(one, tenant));
  return (
    <main className="page" aria-busy={value === undefined && problem === undefined}>
      <header className="page-head">
        <h1>Passkeys</h1>
      </header>
      <p>Some rules count an answer only if you sign it with a passkey. Register two, so that you can lose one.</p>
      <p className="cs-problem-line" role="alert">
        {words === '' && problem !== undefined ? problemWords(problem, Date.now()) : words}
      </p>
      <ul aria-label="Your passkeys">
        {own.map((one) => (
          <li key={one.credentialId}>
            <Name text={one.name} /> {one.status === 'active' ? 'signs your answers' : 'waits for a confirmation'}{' '}
            {one.status === 'waiting' && one.waitsFor === 'any-passkey' && (
              <button className="cs-button" type="button" onClick={confirm(one)}>
                Sign for it
              </button>
            )}{' '}
            <button
              className="cs-button"
              type="button"
              onClick={onPress(() => act(() => removePasskey(one.credentialId)))}
            >
              Remove
            </button>
          </li>
        ))}
      </ul>
      <form
        className="cs-actions"
        onSubmit={(event) => {
          event.preventDefault();
          act(() => registerPasskey(name.trim() === '' ? 'passkey' : name.trim()));
        }}
      >
        <label>
          Name <input value={name} maxLength={64} onChange={(event) => setName(event.target.value)} />
        </label>
        <button className="cs-button" type="submit">
          Register a passkey
        </button>
      </form>
      {waiting.length > 0 && <h2>Of others, to confirm</h2>}
      <ul aria-label="Passkeys of others">
        {waiting.map((one) => (
          <li key={one.credentialId}>
            <Name text={one.principal} />: <Name text={one.name} />{' '}
            <button className="cs-button" type="button" onClick={confirm(one)}>
              Confirm
            </button>
          </li>
        ))}
      </ul>
    </main>
  );
}
