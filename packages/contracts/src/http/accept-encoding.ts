/** The content codings that a request takes (RFC 9110, section 12.5.3). */

/** Whether the header takes a coding: named, or by `*`, and not with a weight of zero. Without a header: no. */
export function acceptsCoding(header: string | null | undefined, coding: string): boolean {
  if (header === null || header === undefined) return false;
  let byStar = false;
  for (const member of header.split(',')) {
    const [name = '', ...parameters] = member.split(';').map((part) => part.trim().toLowerCase());
    if (name !== coding && name !== '*') continue;
    const isTaken = !parameters.some((parameter) => /^q=0(?:\.0*)?$/.test(parameter));
    if (name === coding) return isTaken;
    byStar = isTaken;
  }
  return byStar;
}
