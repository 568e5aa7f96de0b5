# This file makes an image of plan serve: docker build -f server.Dockerfile -t inferplan:0.1.0 .
# GPUs want a base with Node 20, CUDA 12 and cuDNN 9.
ARG BASE=node:20-bookworm-slim
FROM ${BASE}
RUN npm install --global inferplan@0.1.0 onnxruntime-node@1.30.0
USER 1000
ENTRYPOINT ["plan"]
