/**
 * Names of a runtime's scripts: `fieldwork` serves, `fieldwork--1.4.0` keeps that version. Uploads, routes and logs use
 * these functions, so that a name always means the same script.
 *
 * No two scripts share a name. A serving script has no full stop, because a slug has none; an archive script has at least
 * two. The text before its first full stop is the slug, two hyphens and the digits of the major version, so that the slug
 * can be read back even where it contains two hyphens.
 */

/** The script that answers for a vertical on prod. */
export function servingScript(vertical: string): string {
  return vertical;
}

/** The script that keeps one version. */
export function archiveScript(vertical: string, version: string): string {
  return `${vertical}--${version}`;
}
