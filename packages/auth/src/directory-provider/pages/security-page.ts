/** The account page, on which a user sees and changes their credentials and ends their sessions. */
import type { AccountSecurity, Passkey } from '../../accounts/contract.ts';
import type { ListedSession } from '../../sessions/operations.ts';
import { type Html, html } from '../markup/html.ts';
import type { Texts } from '../texts/en.ts';
import { alert, chosen, day, field, form, hidden, newPasswordField, notice } from './fields.ts';
import type { PageContent } from './layout.ts';
import { authUrl, SECURITY_PATH } from './paths.ts';
import { noScript, scriptTexts } from './sign-in-pages.ts';

export interface SecurityFault {
  readonly section: 'name' | 'email' | 'password' | 'delete';
  readonly message: string;
  readonly typed?: string;
}

export interface SecurityPage {
  readonly account: AccountSecurity;
  readonly sessions: readonly ListedSession[];
  readonly currentSid: string;
  /** Whether the holder proved their identity recently, so that no confirmation is needed. */
  readonly fresh: boolean;
  readonly notice?: string | undefined;
  readonly alert?: string;
  readonly fault?: SecurityFault;
}

export function securityPage(t: Texts, page: SecurityPage): PageContent {
  const { fresh, fault } = page;
  return {
    heading: t.security.heading,
    wide: true,
    failed: fault !== undefined || page.alert !== undefined,
    body: html`${notice(page.notice)}${alert(page.alert)}${
      !fresh &&
      html`<p class="notice">${t.security.confirmFirst(authUrl('confirm', { returnTo: SECURITY_PATH }))}</p>`
    }
${profileSection(t, page)}
${emailSection(t, page)}
${passwordSection(t, page)}
${passkeysSection(t, page)}
${twoStepSection(t, page)}
${sessionsSection(t, page)}
${deleteSection(t, page)}
<p class="actions"><a class="button plain" href="${authUrl('logout')}">${t.security.signOut}</a></p>`,
  };
}

function profileSection({ security: t }: Texts, { account, fault }: SecurityPage): Html {
  const wrong = fault?.section === 'name' ? fault : undefined;
  return section(
    t.name,
    form(
      authUrl('security/name'),
      html`${field({
        name: 'name',
        label: t.name,
        autocomplete: 'name',
        value: wrong?.typed ?? account.name,
        required: false,
        maxLength: 100,
        fault: wrong?.message,
        autofocus: wrong !== undefined,
      })}
<p class="actions"><button class="button plain">${t.saveName}</button></p>`,
    ),
  );
}

function emailSection({ security: t, frame }: Texts, { account, fresh, fault }: SecurityPage): Html {
  const wrong = fault?.section === 'email' ? fault : undefined;
  return section(
    frame.email,
    html`<p>${chosen(account.email)} ${account.emailVerified ? t.isConfirmed : t.isNotConfirmed}</p>${
      fresh &&
      form(
        authUrl('security/email'),
        html`${field({
          name: 'email',
          label: t.newAddress,
          type: 'email',
          inputmode: 'email',
          autocomplete: 'email',
          value: wrong?.typed,
          hint: t.newAddressHint,
          fault: wrong?.message,
          autofocus: wrong !== undefined,
        })}
<p class="actions"><button class="button plain">${t.changeAddress}</button></p>`,
      )
    }`,
  );
}

function passwordSection(texts: Texts, { account, fresh, fault }: SecurityPage): Html {
  const { security: t, frame } = texts;
  const { passwordChangedMs, email } = account;
  const wrong = fault?.section === 'password' ? fault : undefined;
  return section(
    frame.password,
    html`<p>${passwordChangedMs === null ? t.noPassword : t.setOn(day(passwordChangedMs))}</p>${
      fresh &&
      form(
        authUrl('security/password'),
        html`${newPasswordField(texts, { email, fault: wrong?.message, prefix: 'new-' })}
<p class="actions"><button class="button plain">${passwordChangedMs === null ? t.setPassword : t.changePassword}</button></p>
<p class="hint">${t.endsSessions}</p>`,
      )
    }`,
  );
}

function passkeysSection(texts: Texts, { account, fresh }: SecurityPage): Html {
  const { security: t } = texts;
  const { passkeys } = account;
  return section(
    html`<span id="passkeys">${t.passkeys}</span>`,
    html`${
      passkeys.length === 0
        ? html`<p>${t.noPasskeys}</p>`
        : html`<ul class="items">${passkeys.map((passkey) => passkeyItem(t, passkey, fresh))}</ul>`
    }${
      fresh &&
      html`<div class="passkey" data-passkey="register" data-name-from="passkey-name"${scriptTexts(texts)} hidden>
${field({ name: 'passkey-name', label: t.newPasskey, autocomplete: 'off', required: false, maxLength: 100 })}
<p class="fault" role="alert" data-fault></p>
<p class="actions"><button type="button" class="button plain">${t.addPasskey}</button></p>
</div>
${noScript(t.addNeedsScript)}`
    }`,
  );
}

function passkeyItem(
  t: Texts['security'],
  { id, name, backedUp, createdMs, usedMs }: Passkey,
  fresh: boolean,
): Html {
  return html`<li><p><strong>${chosen(name)}</strong> <span class="hint">${t.addedOn(day(createdMs))}${
    usedMs === null ? '' : t.lastUsedOn(day(usedMs))
  }${backedUp ? t.backedUp : ''}</span></p>${
    fresh &&
    html`<div class="row">${form(
      authUrl('security/passkeys/rename'),
      html`${hidden('id', id)}${field({ name: 'name', prefix: `${id}-`, label: t.newName, autocomplete: 'off', value: name, maxLength: 100 })}
<p class="actions"><button class="button plain">${t.rename}<span class="hidden"> ${name}</span></button></p>`,
    )}${form(
      authUrl('security/passkeys/remove'),
      html`${hidden('id', id)}<p class="actions"><button class="button plain">${t.remove}<span class="hidden"> ${name}</span></button></p>`,
    )}</div>`
  }</li>`;
}

function twoStepSection({ security: t }: Texts, { account, fresh }: SecurityPage): Html {
  const { totp, recoveryCodes } = account;
  const button = (action: string, label: string) =>
    form(authUrl(action), html`<p class="actions"><button class="button plain">${label}</button></p>`);
  return section(
    t.twoStep,
    html`<p>${totp ? t.twoStepOn(recoveryCodes) : t.twoStepOff}</p>${
      fresh &&
      (totp
        ? html`<div class="row">${button('security/recovery-codes', t.newCodes)}${button('security/totp/disable', t.turnOff)}</div>`
        : button('security/totp', t.turnOn))
    }`,
  );
}

function deleteSection({ security: t }: Texts, { account, fresh, fault }: SecurityPage): Html {
  const wrong = fault?.section === 'delete' ? fault : undefined;
  return section(
    t.delete,
    html`<p>${t.deleteWhat}</p>${
      fresh &&
      form(
        authUrl('security/delete'),
        html`${field({
          name: 'email',
          prefix: 'delete-',
          label: t.typeToConfirm(account.email),
          type: 'email',
          inputmode: 'email',
          autocomplete: 'off',
          value: wrong?.typed,
          fault: wrong?.message,
          autofocus: wrong !== undefined,
        })}
<p class="actions"><button class="button plain">${t.deleteButton}</button></p>`,
      )
    }`,
  );
}

function section(heading: string | Html, content: Html): Html {
  return html`<section>
<h2>${heading}</h2>
${content}
</section>`;
}

function sessionsSection({ security: t }: Texts, { sessions, currentSid }: SecurityPage): Html {
  return section(
    t.sessions,
    html`<ul class="items">${sessions.map((session) => sessionItem(t, session, session.sid === currentSid))}</ul>
${form(authUrl('security/sessions/end-all'), html`<p class="actions"><button class="button plain">${t.signOutEverywhere}</button></p>`)}`,
  );
}

function sessionItem(
  t: Texts['security'],
  { sid, client, startedMs }: ListedSession,
  current: boolean,
): Html {
  const label = client ?? t.unknownBrowser;
  return html`<li class="row"><p><strong>${label}</strong>${current && ` ${t.thisOne}`} <span class="hint">${t.since(day(startedMs))}</span></p>${form(
    authUrl('security/sessions/end'),
    html`${hidden('sid', sid)}<p class="actions"><button class="button plain">${t.signOut}<span class="hidden"> ${label}</span></button></p>`,
  )}</li>`;
}
