/** The one page where somebody sees and changes how they sign in, and where they are signed in. */
import type { AccountSecurity } from '../../accounts/contract.ts';
import type { ListedSession } from '../../sessions/operations.ts';
import { authUrl, SECURITY_PATH } from './paths.ts';
import { alert, notice } from './fields.ts';
import { html } from './html.ts';
import type { PageContent } from './layout.ts';
import {
  deleteSection,
  emailSection,
  passkeysSection,
  passwordSection,
  profileSection,
  twoStepSection,
} from './security-sections.ts';
import { sessionsSection } from './sessions-section.ts';

/** What was wrong with one form of the page, and what was typed into it. */
export interface SecurityFault {
  readonly section: 'name' | 'email' | 'password' | 'delete';
  readonly message: string;
  readonly typed?: string;
}

export interface SecurityPage {
  readonly account: AccountSecurity;
  readonly sessions: readonly ListedSession[];
  /** The session that looks at the page. */
  readonly currentSid: string;
  /** Whether they proved who they are a short while ago, so that nothing more is asked. */
  readonly fresh: boolean;
  readonly notice?: string | undefined;
  readonly alert?: string;
  readonly fault?: SecurityFault;
}

export function securityPage(page: SecurityPage): PageContent {
  const { fresh, fault } = page;
  return {
    heading: 'Sign-in and security',
    wide: true,
    failed: fault !== undefined || page.alert !== undefined,
    body: html`${notice(page.notice)}${alert(page.alert)}${
      !fresh &&
      html`<p class="notice">To change how you sign in, <a href="${authUrl('confirm', { returnTo: SECURITY_PATH })}">confirm that it is you</a> first.</p>`
    }
${profileSection(page)}
${emailSection(page)}
${passwordSection(page)}
${passkeysSection(page)}
${twoStepSection(page)}
${sessionsSection(page)}
${deleteSection(page)}
<p class="actions"><a class="button plain" href="${authUrl('logout')}">Sign out</a></p>`,
  };
}
