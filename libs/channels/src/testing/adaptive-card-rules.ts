type Part = Readonly<Record<string, unknown>>;

/** The members that the schema of Adaptive Cards 1.5 knows of the parts that a card of ours may have. */
const members: Readonly<Record<string, readonly string[]>> = {
  AdaptiveCard: ['type', '$schema', 'version', 'msteams', 'body', 'actions'],
  RichTextBlock: ['type', 'spacing', 'inlines'],
  TextRun: ['type', 'text', 'weight', 'size', 'fontType', 'selectAction'],
  'Input.Text': ['type', 'id', 'label', 'isMultiline', 'maxLength'],
  'Action.Execute': ['type', 'title', 'style', 'verb', 'data', 'fallback'],
  'Action.Submit': ['type', 'title', 'style', 'data'],
  'Action.OpenUrl': ['type', 'title', 'url'],
  'Action.ShowCard': ['type', 'title', 'card'],
};

const places: Readonly<Record<string, readonly string[]>> = {
  body: ['RichTextBlock', 'Input.Text'],
  inlines: ['TextRun'],
  actions: ['Action.Execute', 'Action.Submit', 'Action.OpenUrl', 'Action.ShowCard'],
  // No card may open another in a form, and no form is a link.
  selectAction: ['Action.OpenUrl', 'Action.Execute', 'Action.Submit'],
  card: ['AdaptiveCard'],
  fallback: ['Action.Submit', 'Action.OpenUrl'],
};

/** Returns why Teams would not show a card; undefined: it is well formed. */
export function cardProblem(card: unknown): string | undefined {
  const top = card as Part;
  if (top['type'] !== 'AdaptiveCard' || top['version'] !== '1.5') return 'the card is no Adaptive Card 1.5';
  return partProblem(top, 'card');
}

function partProblem(part: Part, place: string): string | undefined {
  const type = String(part['type']);
  const known = members[type];
  if (known === undefined || places[place]?.includes(type) !== true) return `${type} is not for ${place}`;
  const other = Object.keys(part).find((name) => !known.includes(name));
  if (other !== undefined) return `${type} has no ${other}`;
  if (type === 'TextRun' && typeof part['text'] !== 'string') return 'a TextRun has no text';
  if (type === 'Action.OpenUrl' && !/^https?:\/\//.test(String(part['url']))) return 'Action.OpenUrl has no url';
  if (type === 'Action.Execute' && typeof part['verb'] !== 'string') return 'Action.Execute has no verb';
  const below = Object.keys(places).flatMap((name) =>
    [part[name] ?? []].flat().map((one) => [one as Part, name] as const),
  );
  return below.map(([one, name]) => partProblem(one, name)).find((problem) => problem !== undefined);
}
