/** The device flow's three pages: enter the code, confirm the device, done. */
import { type Html, html } from './html.ts';
import { type Page, renderMessage, renderPage } from './page.ts';

export interface DeviceCodePage {
  readonly action: string;
  readonly xsrf: string;
  /** The typed code, when it was refused. */
  readonly typed: string | undefined;
  readonly problem: string | undefined;
}

export function renderDeviceCodePage({ action, xsrf, typed, problem }: DeviceCodePage): Page {
  return renderPage({
    title: 'Connect a program',
    card: html`<h1>Connect a program</h1>
<form method="post" action="${action}">
<input type="hidden" name="xsrf" value="${xsrf}">
<h2><label for="code">The code that the program shows</label></h2>
<div class="field">
<span class="input"><input id="code" name="user_code" value="${typed}" required autofocus autocomplete="off"
autocapitalize="characters" spellcheck="false"${problem !== undefined && html` aria-invalid="true" aria-describedby="problem"`}></span>
<button class="button">Continue</button>
</div>
${problem !== undefined && html`<p class="problem" id="problem" role="alert">${problem}</p>`}
</form>`,
  });
}

/** Asks whether a device of the person shows the code. The form's id is `op.deviceConfirmForm`. */
export function renderDeviceConfirmPage(page: {
  readonly form: Html;
  readonly clientName: string;
  readonly code: string;
}): Page {
  return renderPage({
    title: `Connect ${page.clientName}`,
    card: html`<h1>Connect ${page.clientName}?</h1>
<p class="lead">It must show this code, on a device that is yours:</p>
<p class="lead"><code>${page.code}</code></p>
${page.form}
<p class="actions"><button class="button" form="op.deviceConfirmForm" autofocus>Connect</button>
<button class="button plain" form="op.deviceConfirmForm" name="abort" value="yes">Refuse</button></p>`,
  });
}

export function renderDeviceDonePage(clientName: string): Page {
  return renderMessage({
    title: `${clientName} is connected`,
    paragraphs: [html`You can close this page and go on there.`],
  });
}
