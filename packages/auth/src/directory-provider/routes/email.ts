/** Where the link to a new address leads. It was sent to that address, so that whoever follows it receives its mail. */
import type { Handler } from '../context.ts';
import { noticeMail } from '../mails.ts';
import { emailFinishPage } from '../pages/mail-pages.ts';
import { messagePage } from '../pages/message-page.ts';
import { readForm } from '../request-body.ts';
import { pageResponse } from '../responses.ts';
import { SECURITY_PATH } from '../return-path.ts';
import { deadLink, orDeadLink } from './sign-up.ts';

/** Shows a form and changes nothing: mail scanners follow links. */
export const showEmailFinish: Handler = async (context, exchange) => {
  const token = exchange.query.get('token') ?? '';
  const link = await context.directory.showLink({ token, purpose: 'email_change' });
  if (link === null) return deadLink(context, exchange, 'security');
  return pageResponse(context, exchange, emailFinishPage({ token, email: link.email }));
};

export const postEmailFinish: Handler = async (context, exchange) => {
  const { appName, origin } = exchange;
  const { token } = await readForm(exchange.request, ['token']);
  const { scopeId, directory } = context;
  const done = await orDeadLink(directory.completeEmailChange({ scopeId, token }));
  if (done === null) return deadLink(context, exchange, 'security');
  context.post(noticeMail({ appName, origin }, done.formerEmail, 'email_changed'));
  const page = messagePage({
    heading: 'Your address was changed',
    sentences: ['From now on you sign in with the new address.'],
    next: { label: 'Go to your account', url: SECURITY_PATH },
  });
  return pageResponse(context, exchange, page);
};
