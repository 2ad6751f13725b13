/** A character that a reader sees: no blank, no control, no mark of direction, no filler, no symbol without ink. */
const visible = /[^\s\p{C}\p{Default_Ignorable_Code_Point}\u2800\ufffc\u{1d159}]/u;

/** Whether a text shows a reader nothing. */
export function isBlank(text: string): boolean {
  return !visible.test(text);
}
