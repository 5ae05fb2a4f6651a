/**
 * How a runtime's scripts are called: `fieldwork` serves, `fieldwork--1.4.0` is kept for that version. One function for
 * each, so that whoever uploads, routes or reads a log means the same script.
 *
 * No two scripts share a name. A serving script has no full stop, because a slug has none, and an archive script has at
 * least two. What comes before its first one is the slug, two hyphens, and the digits of the major version, so that the
 * slug is found again even where it has two hyphens of its own.
 */

/** The script that answers for a vertical on prod. */
export function servingScript(vertical: string): string {
  return vertical;
}

/** The script that keeps one version. */
export function archiveScript(vertical: string, version: string): string {
  return `${vertical}--${version}`;
}
