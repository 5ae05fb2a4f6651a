/**
 * Text that people type and read: names, titles and notes. Only inputs are checked; what was stored before stays readable.
 * Nothing is trimmed or changed, so that what was sent comes back.
 */
import { z } from 'zod';

/** Controls, and signs that change the direction or the order of the text around them: one name can look like another. */
const UNSEEN = String.raw`\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069`;
const LINE_ENDS = String.raw`\t\n\r`;
const SPACES = String.raw` \u00a0\u1680\u2000-\u200a\u202f\u205f\u3000`;
/** They show nothing: a text of them alone is blank. */
const EMPTY_SIGNS = String.raw`\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200d\u2060-\u2064\u2800\u3164\ufeff\uffa0`;

const BLANK_LINE = `${SPACES}${EMPTY_SIGNS}`;
const BLANK_TEXT = `${LINE_ENDS}${BLANK_LINE}`;
// The first part cannot match what the second does, so that a refusal costs no more than the length of the text.
const LINE = new RegExp(`^[${BLANK_LINE}]*[^${BLANK_TEXT}${UNSEEN}][^${LINE_ENDS}${UNSEEN}]*$`);
const TEXT = new RegExp(`^[${BLANK_TEXT}]*[^${BLANK_TEXT}${UNSEEN}][^${UNSEEN}]*$`);
const OPTIONAL_LINE = new RegExp(`^[^${LINE_ENDS}${UNSEEN}]*$`);
const OPTIONAL_TEXT = new RegExp(`^[^${UNSEEN}]*$`);

const PLAIN = 'without control characters and signs that change the direction of text';
/** An empty text is told only that it is empty. */
const ONCE = { abort: true } as const;

/** A name, a title or a label: one line of 1 to `max` characters that is not blank. */
export function lineOfText(max: number) {
  return z.string().min(1, ONCE).max(max).regex(LINE, `must be one line of text that is not blank, ${PLAIN}`);
}

/** A line that may be empty. */
export function optionalLineOfText(max: number) {
  return z.string().max(max).regex(OPTIONAL_LINE, `must be one line of text ${PLAIN}`);
}

/** A note or a reason: 1 to `max` characters that are not blank. Tabs and line ends stay as they were sent. */
export function noteText(max: number) {
  return z.string().min(1, ONCE).max(max).regex(TEXT, `must be text that is not blank, ${PLAIN}`);
}

/** A note that may be empty. */
export function optionalNoteText(max: number) {
  return z.string().max(max).regex(OPTIONAL_TEXT, `must be text ${PLAIN}`);
}
