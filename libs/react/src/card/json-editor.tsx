import { useEffect, useRef } from 'react';
import type { ReactNode } from 'react';
import { history, historyKeymap, standardKeymap } from '@codemirror/commands';
import { json, jsonParseLinter } from '@codemirror/lang-json';
import { HighlightStyle, bracketMatching, indentOnInput, syntaxHighlighting } from '@codemirror/language';
import { RangeSetBuilder, StateField } from '@codemirror/state';
import type { Text } from '@codemirror/state';
import { Decoration, EditorView, ViewPlugin, WidgetType, keymap, lineNumbers } from '@codemirror/view';
import type { DecorationSet } from '@codemirror/view';
import { tags } from '@lezer/highlight';
import { segmentsOf } from '@countersign/text';
import type { MarkReason } from '@countersign/text';

/** A class for the editor: its colours follow the page's theme. */
const look = EditorView.theme({
  '&': { height: '100%', backgroundColor: 'var(--cs-field)', color: 'var(--cs-text)', fontSize: '13px' },
  '.cm-content': { fontFamily: 'var(--cs-mono)', caretColor: 'var(--cs-text)' },
  '.cm-gutters': { backgroundColor: 'var(--cs-field)', color: 'var(--cs-muted)', border: 'none' },
  '.cm-cursor': { borderLeftColor: 'var(--cs-text)' },
  '&.cm-focused': { outline: 'none' },
  '&.cm-focused .cm-selectionBackground, .cm-selectionBackground': {
    backgroundColor: 'var(--cs-selection) !important',
  },
  // A browser gives the decoration of a text to what is typed in its place, as a style that the security policy refuses. A border stays.
  '.cm-problem': { borderBottom: '2px dotted var(--cs-bad-text)' },
  '.cm-specialChar': { color: 'var(--cs-warn-text)', backgroundColor: 'var(--cs-warn-soft)' },
});

const colours = HighlightStyle.define([
  { tag: tags.propertyName, color: 'var(--cs-accent-text)' },
  { tag: tags.string, color: 'var(--cs-good-text)' },
  { tag: [tags.number, tags.bool, tags.null], color: 'var(--cs-warn-text)' },
]);

class MarkWidget extends WidgetType {
  constructor(readonly text: string) {
    super();
  }

  override eq(other: MarkWidget): boolean {
    return other.text === this.text;
  }

  override toDOM(): HTMLElement {
    const mark = document.createElement('span');
    mark.className = 'cm-specialChar';
    mark.textContent = this.text;
    return mark;
  }
}

/** Foreign text is marked here as on the card. */
function marksOf(doc: Text): DecorationSet {
  const marks = new RangeSetBuilder<Decoration>();
  let at = 0;
  for (const segment of segmentsOf(doc.toString(), { partedBy: '\n\t' })) {
    const to = at + (segment.kind === 'mark' ? segment.character : segment.text).length;
    if (segment.kind === 'mark' && !isLayout(segment, doc, at))
      marks.add(at, to, Decoration.replace({ widget: new MarkWidget(segment.text) }));
    at = to;
  }
  return marks.finish();
}

/** The indentation of JSON, and empty lines between its values: no text of a call can contain them. */
function isLayout({ reason, character }: { reason: MarkReason; character: string }, doc: Text, at: number): boolean {
  return reason === 'blank' && (character.includes('\n') || doc.lineAt(at).from === at);
}

const marks = StateField.define<DecorationSet>({
  create: ({ doc }) => marksOf(doc),
  update: (before, { docChanged, newDoc }) => (docChanged ? marksOf(newDoc) : before),
  provide: (field) => EditorView.decorations.from(field),
});

const problemsOf = jsonParseLinter();

/** Marks the place at which the text is no JSON. The words stand below the editor. The package `lint` would be 9 kB for the same. */
const problem = ViewPlugin.define(
  (view) => ({
    place: placeOfProblem(view),
    update({ docChanged, view: changed }) {
      if (docChanged) this.place = placeOfProblem(changed);
    },
  }),
  { decorations: ({ place }) => place },
);

function placeOfProblem(view: EditorView): DecorationSet {
  const [first] = problemsOf(view);
  const { length } = view.state.doc;
  if (first === undefined || length === 0) return Decoration.none;
  const from = Math.min(first.from, length - 1);
  return Decoration.set(Decoration.mark({ class: 'cm-problem' }).range(from, from + 1));
}

/**
 * A JSON editor in a shadow root. There its styles are constructed style sheets; in the page they would be a style
 * element, which the content security policy forbids.
 */
export default function JsonEditor(props: {
  text: string;
  onChange: (text: string) => void;
  onSubmit: () => void;
}): ReactNode {
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
        marks,
        indentOnInput(),
        bracketMatching(),
        json(),
        problem,
        syntaxHighlighting(colours),
        look,
        EditorView.lineWrapping,
        EditorView.contentAttributes.of({ 'aria-label': 'Arguments as JSON' }),
        keymap.of([submit, ...standardKeymap, ...historyKeymap]),
        EditorView.updateListener.of((update) => {
          if (update.docChanged) current.current.onChange(update.state.doc.toString());
        }),
      ],
    });
    editor.focus();
    return () => editor.destroy();
  }, []);
  return <div ref={place} className="cs-json-editor" />;
}
