/** The mail to a person for whom a program was let in, so that they notice one that they did not let in themself. */
import { PATHS } from '../pages/frame.ts';
import type { MemberVisit } from './visit.ts';

/** Sends none where the owner wants none. Never fails: the program is let in, and the log of the team page says so as well. */
export async function mailOfEntry(visit: MemberVisit, name: string): Promise<void> {
  const { parts, subject, business, node, t } = visit;
  const { mailer, onIncident, slug } = parts;
  if (!mailer || subject.email === null || subject.emailVerified !== true) return;
  try {
    const { mails } = await parts.directory(node.tenant).programPolicy({ scopeId: node.scope });
    if (!mails) return;
    await mailer.send({
      to: subject.email,
      subject: t.programs.mailSubject(name, business),
      text: t.programs.mailText(name, business, node.origin + PATHS.programs),
    });
  } catch (error) {
    onIncident(error, { kind: slug, key: node.scope, method: 'programs' });
  }
}
