/* `recibo backlog settle`. */
#ifndef RECIBO_GATEWAY_COMMANDS_SETTLE_H
#define RECIBO_GATEWAY_COMMANDS_SETTLE_H

int settle_run(int argc, char **argv);

#endif
