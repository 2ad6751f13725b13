import { useEffect, useRef } from 'react';
import type { ReactNode } from 'react';
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { json, jsonParseLinter } from '@codemirror/lang-json';
import { HighlightStyle, bracketMatching, indentOnInput, syntaxHighlighting } from '@codemirror/language';
import { linter } from '@codemirror/lint';
import { EditorView, highlightSpecialChars, keymap, lineNumbers } from '@codemirror/view';
import { tags } from '@lezer/highlight';
import { markOf } from '@countersign/text';

/** What the editor's own class is for: colours that follow the page's, dark or light. */
const look = EditorView.theme({
  '&': { height: '100%', backgroundColor: 'var(--field)', color: 'var(--text)', fontSize: '13px' },
  '.cm-content': { fontFamily: 'var(--mono)', caretColor: 'var(--text)' },
  '.cm-gutters': { backgroundColor: 'var(--field)', color: 'var(--muted)', border: 'none' },
  '.cm-cursor': { borderLeftColor: 'var(--text)' },
  '&.cm-focused': { outline: 'none' },
  '&.cm-focused .cm-selectionBackground, .cm-selectionBackground': { backgroundColor: 'var(--selection) !important' },
  '.cm-tooltip': { backgroundColor: 'var(--surface)', color: 'var(--text)', border: '1px solid var(--line)' },
  '.cm-specialChar': { color: 'var(--warn-text)', backgroundColor: 'var(--warn-soft)' },
});

const colours = HighlightStyle.define([
  { tag: tags.propertyName, color: 'var(--accent-text)' },
  { tag: tags.string, color: 'var(--good-text)' },
  { tag: [tags.number, tags.bool, tags.null], color: 'var(--warn-text)' },
]);

/** Also what the editor would draw as nothing, or as something else, is seen. */
const specialCharacters = highlightSpecialChars({
  addSpecialChars: /[\p{Cf}\p{Default_Ignorable_Code_Point}\p{Co}\p{Cn}]/gu,
  render: (code) => {
    const mark = document.createElement('span');
    mark.className = 'cm-specialChar';
    mark.textContent = markOf(String.fromCodePoint(code));
    return mark;
  },
});

/**
 * A JSON editor. It lives in a shadow root: there its styles are constructed style sheets, while in the page they would be a
 * style element, which the page's policy forbids.
 */
export function JsonEditor(props: { text: string; onChange: (text: string) => void; onSubmit: () => void }): ReactNode {
  const place = useRef<HTMLDivElement>(null);
  const current = useRef(props);
  useEffect(() => {
    current.current = props;
  });
  useEffect(() => {
    if (place.current === null) return undefined;
    const root = place.current.shadowRoot ?? place.current.attachShadow({ mode: 'open' });
    const submit = { key: 'Mod-Enter', run: () => (current.current.onSubmit(), true) };
    const editor = new EditorView({
      doc: current.current.text,
      root,
      parent: root,
      extensions: [
        lineNumbers(),
        history(),
        specialCharacters,
        indentOnInput(),
        bracketMatching(),
        json(),
        linter(jsonParseLinter()),
        syntaxHighlighting(colours),
        look,
        EditorView.lineWrapping,
        EditorView.contentAttributes.of({ 'aria-label': 'Arguments as JSON' }),
        keymap.of([submit, ...defaultKeymap, ...historyKeymap]),
        EditorView.updateListener.of((update) => {
          if (update.docChanged) current.current.onChange(update.state.doc.toString());
        }),
      ],
    });
    editor.focus();
    return () => editor.destroy();
  }, []);
  return <div ref={place} className="json-editor" />;
}
