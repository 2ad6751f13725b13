import { useState } from 'react';

export function Composer({ isBusy, onSend }: { isBusy: boolean; onSend: (text: string) => unknown }) {
  const [text, setText] = useState('Refund 50 to the customer, please.');
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        onSend(text);
        setText('');
      }}
    >
      <input aria-label="Message" value={text} onChange={(event) => setText(event.target.value)} />
      <button disabled={isBusy || text === ''}>Send</button>
    </form>
  );
}
